-- Why walks of user stacks ended before the root.
SELECT coalesce(unwind, 'unknown') AS how, count(*) AS count
FROM events
WHERE ustack_id IS NOT NULL AND unwind IS DISTINCT FROM 'root'
GROUP BY how
ORDER BY count DESC, how;
