-- Where does a command stand in line for a CPU: preempted, or woken and not yet run?
--     stacksexport pprof sql/pprof/offcpu_runnable_stacks_for_command.sql -c COMMAND
-- count: intervals. runnable_time: the part of the time off the CPU in which the thread could run and
-- no CPU took it. Much of it: too few CPUs, or a quota. [no stack]: intervals below the recording's minimum.
WITH waits AS (
    SELECT ustack_id, kstack_id, count(*) AS count, sum(runnable_ns)::BIGINT AS runnable_time
    FROM offcpu
    WHERE runnable_ns > 0 AND command = '?command'
    GROUP BY ustack_id, kstack_id
)
SELECT list_concat(k.frames, u.frames) AS stack, count, runnable_time
FROM waits
LEFT JOIN stacktraces k ON k.stack_id = kstack_id
LEFT JOIN stacktraces u ON u.stack_id = ustack_id;
