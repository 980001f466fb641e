-- Which threads and code wake the threads of a program?
--     stacksexport pprof sql/pprof/wake_wakers.sql [-c COMMAND] [-b PROGRAM]
-- count: wake-ups. blocked_time: how long the woken threads had waited. The stack is the waker's; its root is the
-- waker's command. Long waits point to the thread that holds the lock, or produces the awaited data. Needs kinds wake
-- and switch.
SELECT
    [
        stack_part(waker_kstack_id), stack_part(waker_ustack_id),
        label_part('woken by ' || coalesce(nullif(waker_command, ''), 'an interrupt'))] AS stack,
    count(*) AS count,
    sum(blocked_ns) AS blocked_time
FROM wakeups
WHERE woken
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY waker_command, waker_ustack_id, waker_kstack_id;
