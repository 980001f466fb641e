-- How long kernel threads waited for work, which the tables of off-CPU time leave out.
SELECT coalesce(sum(blocked_ns + runnable_ns), 0) AS idle_ns
FROM offcpu_waits
WHERE state = 'idle';
