-- Off-CPU time by how the threads left the CPU.
SELECT
    sum(blocked_ns) AS "blocked s",
    sum(runnable_ns) AS "runnable s",
    sum(count) AS intervals,
    state
FROM offcpu_waits
WHERE state != 'idle'
GROUP BY state
ORDER BY "blocked s" + "runnable s" DESC, state;
