-- Which spans is each thread in, at any time?
--     stacksexport trace sql/traceview/usdt_all.sql [-c COMMAND] [-b PROGRAM]
-- A slice from each time that a thread enters a span until it leaves it, with the stack there, and an instant where the
-- span is closed.
SELECT
    'complete' AS event, trace_name AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS end_stack, span_id, parent_id, id, amount
FROM events
WHERE kind = 'trace_exit'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
UNION ALL
SELECT
    'instant', 'close ' || trace_name, tgid, pid, kind, cpu, timestamp * 0.001, duration * 0.001, [kstack_id, ustack_id],
    span_id, parent_id, id, amount
FROM events
WHERE kind = 'trace_close'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
