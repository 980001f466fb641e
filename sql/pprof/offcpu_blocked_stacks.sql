-- What do threads wait for: locks, disks, the network, timers, other processes?
--     stacksexport pprof sql/pprof/offcpu_blocked_stacks.sql [-c COMMAND] [-b PROGRAM]
-- count: intervals. blocked_time: the part of the time off the CPU in which the thread could not run, from leaving the
-- CPU to the wake-up. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(blocked_ns) AS blocked_time
FROM offcpu
WHERE blocked_ns > 0
    AND (state IS DISTINCT FROM 'idle' OR command = '?command') -- idle: a kernel thread without work
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id, kstack_id;
