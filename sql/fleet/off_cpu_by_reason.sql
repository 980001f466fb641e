-- Why were threads off the CPU, by command and by how they left it?
-- blocked_ns: they waited for an event; runnable_ns: they could run and got no CPU. `gaps` are the short intervals that a
-- minimum (switch::10ms) joined. intervals: their number. Kernel threads that wait for work have the reason `idle`.
WITH slices AS (
    SELECT
        host, pid, command, coalesce(state, '') AS reason, timestamp AS ends, timestamp - duration AS begins,
        runnable - least(runnable, coalesce(gaps, 0)) AS waited
    FROM events
    WHERE kind = 'switch'
), pairs AS (
    SELECT
        command, reason, ends,
        lead(begins) OVER (PARTITION BY host, pid ORDER BY ends) AS next_begins,
        lead(waited) OVER (PARTITION BY host, pid ORDER BY ends) AS next_waited
    FROM slices
), intervals AS (
    SELECT command, reason, greatest(next_begins - ends, 0) AS off_ns, next_waited
    FROM pairs
    WHERE reason NOT IN ('dead', 'running', 'waiting') AND next_begins IS NOT NULL
), parts AS (
    SELECT
        command, reason, off_ns,
        least(off_ns, coalesce(next_waited, CASE WHEN reason = 'preempted' THEN off_ns ELSE 0 END)) AS ready_ns
    FROM intervals
    UNION ALL
    SELECT command, 'gaps' AS reason, gaps AS off_ns, least(gaps, coalesce(runnable, 0)) AS ready_ns
    FROM events
    WHERE kind = 'switch' AND gaps > 0
)
SELECT
    command, reason, sum(off_ns - ready_ns) AS blocked_ns, sum(ready_ns) AS runnable_ns, count(*) AS intervals
FROM parts
GROUP BY command, reason
ORDER BY blocked_ns DESC, runnable_ns DESC, command, reason
LIMIT 100
