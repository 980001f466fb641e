-- Why do threads not run: where did they go to sleep, and which thread woke them?
--     stacksexport query -f sql/tables/why_off_cpu.sql [-c COMMAND] [-b PROGRAM]
-- The hundred combinations with the most time. offcpu_s: from leaving the CPU to running again. It consists of blocked_s,
-- until the wake-up, and runnable_s, waiting for a CPU. `slept` is the stack that left the CPU, `woke` the stack that
-- woke the thread. `woke` is empty if the thread was preempted or still waits, or if the recording has no source `wake`.
-- The stacks are user stacks, or kernel stacks if there is no user stack.
WITH intervals AS MATERIALIZED (
    SELECT
        command, state, coalesce(ustack_id, kstack_id) AS slept_id,
        waker_command, coalesce(waker_ustack_id, waker_kstack_id) AS woke_id,
        count(*) AS count, sum(offcpu_ns) AS offcpu_ns, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns
    FROM wakeups
    WHERE state != 'idle' -- kernel threads that wait for work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
    ORDER BY offcpu_ns DESC, command, state, slept_id, woke_id
    LIMIT 100
), frames_of AS MATERIALIZED (
    FROM stacktraces
    WHERE stack_id IN (SELECT slept_id FROM intervals UNION SELECT woke_id FROM intervals)
)
SELECT
    command, state, count,
    (offcpu_ns / 1e9)::DECIMAL(18, 3) AS offcpu_s,
    (blocked_ns / 1e9)::DECIMAL(18, 3) AS blocked_s,
    (runnable_ns / 1e9)::DECIMAL(18, 3) AS runnable_s,
    s.frames AS slept,
    CASE waker_command WHEN '' THEN '[interrupt]' ELSE coalesce(waker_command, '') END AS woken_by,
    w.frames AS woke
FROM intervals
LEFT JOIN frames_of s ON s.stack_id = slept_id
LEFT JOIN frames_of w ON w.stack_id = woke_id
ORDER BY offcpu_ns DESC, command, state, count;
