-- What the tables of off-CPU time leave out: the time in which threads waited for work, user threads and the kernel's.
SELECT
    (SELECT coalesce(sum(idle_ns), 0) FROM sorted_waits) AS idle_ns,
    (SELECT coalesce(sum(blocked_ns + runnable_ns), 0) FROM offcpu_waits WHERE state = 'idle') AS kernel_ns;
