-- Where do threads wait instead of running, for any reason?
--     stacksexport pprof sql/pprof/offcpu_stacks.sql [-c COMMAND] [-b PROGRAM]
-- count: intervals. offcpu_time: from leaving the CPU to running again. The stack is where the thread waited. Threads
-- that wait at the same time add up. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(offcpu_ns) AS offcpu_time
FROM offcpu
WHERE offcpu_ns > 0
    AND (state IS DISTINCT FROM 'idle' OR command = '?command') -- idle: a kernel thread without work
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id, kstack_id;
