-- Off-CPU time by how the threads left the CPU.
SELECT
    sum(blocked_ns)::BIGINT AS "blocked s",
    sum(runnable_ns)::BIGINT AS "runnable s",
    sum(count)::BIGINT AS intervals,
    state
FROM offcpu_waits
GROUP BY state
ORDER BY "blocked s" + "runnable s" DESC, state;
