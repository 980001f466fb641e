-- For how long the kernel's own workers waited for work: the tables of off-CPU time leave it out.
SELECT coalesce(sum(blocked_ns + runnable_ns), 0) AS idle_ns
FROM offcpu_waits
WHERE state = 'idle';
