-- How the walks of user stacks ended.
SELECT coalesce(unwind, 'unknown') AS how, count(*) AS rows
FROM events
WHERE ustack_id IS NOT NULL
GROUP BY how
ORDER BY rows DESC, how;
