-- Why do threads not run: where did they go to sleep, and which thread woke them?
--     stacksexport pprof sql/pprof/why_off_cpu.sql [-c COMMAND] [-b PROGRAM]
-- count: intervals. offcpu_time: from leaving the CPU to running again. The lower half is the stack that slept, root
-- first. The upper half is the stack that woke it, upside down: the two leaves meet at a frame 'woken by'. Without that
-- frame the thread was preempted, still waits, or its wake-up was not recorded. Needs kinds switch and wake.
SELECT
    [
        reversed_part(waker_ustack_id), reversed_part(waker_kstack_id),
        label_part('woken by ' || CASE waker_command WHEN '' THEN 'an interrupt' ELSE waker_command END),
        stack_part(kstack_id), stack_part(ustack_id)] AS stack,
    count(*) AS count,
    sum(offcpu_ns) AS offcpu_time
FROM wakeups
WHERE offcpu_ns > 0
    AND (state IS DISTINCT FROM 'idle' OR command = '?command') -- idle: a kernel thread without work
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id, kstack_id, waker_command, waker_ustack_id, waker_kstack_id;
