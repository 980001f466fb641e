-- What does a command wait for: locks, disks, the network, timers, other processes?
--     stacksexport pprof sql/pprof/offcpu_blocked_stacks_for_command.sql -c COMMAND
-- count: intervals. blocked_time: the part of the time off the CPU in which the thread could
-- not run: from leaving the CPU to the wake-up. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(blocked_ns) AS blocked_time
FROM offcpu
WHERE blocked_ns > 0 AND command = '?command'
GROUP BY ustack_id, kstack_id;
