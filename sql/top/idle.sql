-- For how long threads of the kernel waited for work: the tables of off-CPU time leave it out.
SELECT coalesce(sum(blocked_ns + runnable_ns), 0) AS idle_ns
FROM offcpu_waits
WHERE state = 'idle';
