-- Whom do the threads of a command wake, and in which code?
--     stacksexport pprof sql/pprof/wake_woken_for_command.sql -c COMMAND
-- count: wake-ups that ended a wait. blocked_time: for how long the woken threads had waited. The stack is the waker's,
-- with the command that it woke on top. Needs kinds wake and switch.
SELECT
    [label_part('wakes ' || command), stack_part(waker_kstack_id), stack_part(waker_ustack_id)] AS stack,
    count(*) AS count,
    sum(blocked_ns) AS blocked_time
FROM wakeups
WHERE woken AND waker_command = '?command'
GROUP BY command, waker_ustack_id, waker_kstack_id;
