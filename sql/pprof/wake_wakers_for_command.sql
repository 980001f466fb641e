-- Who wakes the threads of a command?
--     stacksexport pprof sql/pprof/wake_wakers_for_command.sql -c COMMAND
-- count: wake-ups. blocked_time: for how long the woken threads had waited. The stack is the waker's, its root is the
-- waker's command. Long waits point at who holds the lock, or makes what is waited for. Needs kinds wake and switch.
SELECT
    [
        stack_part(waker_kstack_id), stack_part(waker_ustack_id),
        label_part('woken by ' || coalesce(nullif(waker_command, ''), 'an interrupt'))] AS stack,
    count(*) AS count,
    sum(blocked_ns) AS blocked_time
FROM wakeups
WHERE woken AND command = '?command'
GROUP BY waker_command, waker_ustack_id, waker_kstack_id;
