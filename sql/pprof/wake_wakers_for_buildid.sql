-- Who wakes the threads of a program?
--     stacksexport pprof sql/pprof/wake_wakers_for_buildid.sql -b PROGRAM
-- count: wake-ups. blocked_time: for how long the woken threads had waited. The stack is the waker's, its root is the
-- waker's command. Long waits point at who holds the lock, or makes what is waited for. Needs kinds wake and switch.
WITH wakes AS (
    SELECT waker_command, waker_ustack_id, waker_kstack_id, count(*) AS count, sum(blocked_ns)::BIGINT AS blocked_time
    FROM wakeups
    WHERE woken AND buildid = decode('?buildid', 'hex')
    GROUP BY waker_command, waker_ustack_id, waker_kstack_id
)
SELECT
    list_concat(
        as_frames(k.frames), as_frames(u.frames),
        label('woken by ' || coalesce(nullif(waker_command, ''), 'an interrupt'))) AS stack,
    count, blocked_time
FROM wakes
LEFT JOIN stacktraces k ON k.stack_id = waker_kstack_id
LEFT JOIN stacktraces u ON u.stack_id = waker_ustack_id;
