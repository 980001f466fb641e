-- What does each thread do at any time: run, or wait, and where?
--     stacksexport trace sql/traceview/switch_with_stacks.sql [-c COMMAND] [-b PROGRAM]
-- Slices 'on CPU' with the stack that ended them, and between them the thread's state (sleeping, disk_sleep, preempted
-- and so on), with the stack in which it waited. runnable_us: the part of a wait in which the thread could run but got
-- no CPU.
WITH threads AS MATERIALIZED (
    SELECT DISTINCT pid
    FROM selected('all_events')
    WHERE kind = 'switch'
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), switches AS MATERIALIZED (
    -- Read once, with only the needed columns of offcpu_of().
    SELECT
        timestamp, duration, kind, cpu, command, thread, tgid, pid, buildid, cgroup, host, span_id, trace_name,
        ustack_id, kstack_id, state, runnable, gaps, NULL AS parent_id, NULL AS unwind
    FROM all_events
    WHERE kind = 'switch' AND pid IN (FROM threads)
), waits AS (
    FROM offcpu_of('switches')
)
SELECT
    'complete' AS event, 'on CPU' AS name, tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    NULL::UBIGINT[] AS stack, [kstack_id, ustack_id] AS end_stack, state AS left_as, NULL AS runnable_us
FROM selected('switches')
WHERE duration > 0 AND in_selected_range(timestamp) AND coalesce(getvariable('selected_kind'), 'switch') = 'switch'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
UNION ALL
SELECT
    'complete', state, tgid, pid, 'offcpu', NULL, selected_begin(timestamp) * 0.001, offcpu_ns * 0.001,
    [kstack_id, ustack_id], NULL, NULL, runnable_ns * 0.001
FROM selected_intervals('waits')
WHERE state != 'gaps' AND coalesce(getvariable('selected_kind'), 'switch') = 'switch'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
