-- Where does a program stand in line for a CPU: preempted, or woken and not yet run?
--     stacksexport pprof sql/pprof/offcpu_runnable_stacks_for_buildid.sql -b PROGRAM
-- count: intervals. runnable_time: the part of the time off the CPU in which the thread could run and
-- no CPU took it. Much of it: too few CPUs, or a quota. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(runnable_ns) AS runnable_time
FROM offcpu
WHERE runnable_ns > 0 AND buildid = decode('?buildid', 'hex')
GROUP BY ustack_id, kstack_id;
