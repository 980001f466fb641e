-- Whom do the threads of a command wake, and in which code?
--     stacksexport pprof sql/pprof/wake_woken_for_command.sql -c COMMAND
-- count: wake-ups that ended a wait. blocked_time: for how long the woken threads had waited. The stack is the waker's,
-- with the command that it woke on top. Needs kinds wake and switch.
WITH wakes AS (
    SELECT command, waker_ustack_id, waker_kstack_id, count(*) AS count, sum(blocked_ns)::BIGINT AS blocked_time
    FROM wakeups
    WHERE woken AND waker_command = '?command'
    GROUP BY command, waker_ustack_id, waker_kstack_id
)
SELECT
    list_concat(label('wakes ' || command), as_frames(k.frames), as_frames(u.frames)) AS stack,
    count, blocked_time
FROM wakes
LEFT JOIN stacktraces k ON k.stack_id = waker_kstack_id
LEFT JOIN stacktraces u ON u.stack_id = waker_ustack_id;
