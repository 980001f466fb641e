-- Why does a program not run: where did it go to sleep, and who woke it?
--     stacksexport pprof sql/pprof/why_off_cpu_for_buildid.sql -b PROGRAM
-- count: intervals. offcpu_time: from leaving the CPU to running again. The lower half is the stack that slept, root
-- first; the upper half the stack that woke it, upside down: the two leaves meet at a frame that says 'woken by'.
-- Without it the thread was preempted, waits still, or its wake-up is not in the recording. Needs kinds switch and
-- wake.
WITH intervals AS (
    SELECT
        ustack_id, kstack_id, waker_command, waker_ustack_id, waker_kstack_id,
        count(*) AS count, sum(offcpu_ns)::BIGINT AS offcpu_time
    FROM wakeups
    WHERE offcpu_ns > 0 AND buildid = decode('?buildid', 'hex')
    GROUP BY ALL
)
SELECT
    list_concat(
        list_reverse(list_concat(as_frames(wk.frames), as_frames(wu.frames))),
        CASE WHEN waker_command IS NOT NULL
            THEN label('woken by ' || coalesce(nullif(waker_command, ''), 'an interrupt')) END,
        as_frames(k.frames), as_frames(u.frames)) AS stack,
    count, offcpu_time
FROM intervals
LEFT JOIN stacktraces k ON k.stack_id = kstack_id
LEFT JOIN stacktraces u ON u.stack_id = ustack_id
LEFT JOIN stacktraces wk ON wk.stack_id = waker_kstack_id
LEFT JOIN stacktraces wu ON wu.stack_id = waker_ustack_id;
