-- Which spans were left and never entered or closed again?
--     stacksexport trace sql/traceview/usdt_wait_time_not_closed.sql [-c COMMAND] [-b PROGRAM]
-- A slice from the last time a thread left the span, with the stack there, to the end of the recording: stuck spans,
-- and those in progress at the end.
SELECT
    'complete' AS event, span_name(trace_name) AS name, tgid AS pid, pid AS tid, kind, cpu,
    selected_begin(timestamp) * 0.001 AS start, wait_ns * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack, span_id, parent_id, id, amount
FROM span_waits
WHERE ended = 'open'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
