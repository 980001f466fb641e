-- Why walks of user stacks ended before the root.
SELECT coalesce(unwind, 'unknown') AS how, count(*) AS count
FROM events
WHERE ustack_id IS NOT NULL AND unwind IS DISTINCT FROM 'root'
    AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY how
ORDER BY count DESC, how;
