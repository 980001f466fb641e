-- Which spans is each thread in, at any time?
--     stacksexport trace sql/traceview/usdt_all.sql [-c COMMAND] [-b PROGRAM]
-- A slice from each time a thread enters a span until it leaves it, with the stack there, and an instant at which the
-- span is closed.
SELECT
    CASE kind WHEN 'trace_exit' THEN 'complete' ELSE 'instant' END AS event,
    CASE kind WHEN 'trace_exit' THEN span_name(trace_name) ELSE 'close ' || span_name(trace_name) END AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - CASE kind WHEN 'trace_exit' THEN duration ELSE 0 END) * 0.001 AS start, -- microseconds, exactly
    duration * 0.001 AS duration,
    [kstack_id, ustack_id] AS end_stack, span_id, parent_id, id, amount
FROM events
WHERE starts_with(kind, 'trace_') -- exit and close; not IN, so that the filter is applied while the file is read
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
