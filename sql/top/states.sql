-- Off-CPU time by how the threads left the CPU, without the time in which they waited for work.
SELECT
    sum(blocked_ns) AS "blocked s",
    sum(runnable_ns) AS "runnable s",
    sum(count) FILTER (NOT is_for_work) AS intervals,
    state
FROM sorted_waits
GROUP BY state
ORDER BY "blocked s" + "runnable s" DESC, state;
