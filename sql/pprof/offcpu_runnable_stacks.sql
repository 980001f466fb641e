-- Where do threads wait for a CPU: preempted, or woken and not yet running?
--     stacksexport pprof sql/pprof/offcpu_runnable_stacks.sql [-c COMMAND] [-b PROGRAM]
-- count: intervals. runnable_time: the part of the time off the CPU in which the thread could run but got no CPU. If it
-- is long, there are too few CPUs, or a quota. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(runnable_ns) AS runnable_time
FROM offcpu
WHERE runnable_ns > 0
    AND (state IS DISTINCT FROM 'idle' OR command = '?command') -- idle: a kernel thread without work
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id, kstack_id;
