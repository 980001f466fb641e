-- Which commands do the threads of a program wake, and in which code?
--     stacksexport pprof sql/pprof/wake_woken.sql [-c COMMAND] [-b PROGRAM]
-- count: wake-ups that ended a wait. blocked_time: how long the woken threads had waited. The stack is the waker's,
-- with the woken command on top. Needs kinds wake and switch.
SELECT
    [label_part('wakes ' || command), stack_part(waker_kstack_id), stack_part(waker_ustack_id)] AS stack,
    count(*) AS count,
    sum(blocked_ns) AS blocked_time
FROM wakeups
WHERE woken
    AND ('?command' IS NULL OR waker_command = '?command')
    AND ('?buildid' IS NULL OR waker_buildid = decode('?buildid', 'hex'))
GROUP BY command, waker_ustack_id, waker_kstack_id;
