-- Which spans keep a thread for more than 10 ms at a time?
--     stacksexport trace sql/traceview/usdt_slow_on_cpu_10ms.sql [-c COMMAND] [-b PROGRAM]
-- In an asynchronous program nothing else runs on that thread meanwhile. Shows the slices of usdt_all longer than 10
-- ms; with switch_with_stacks they show whether the thread ran or slept.
SELECT
    'complete' AS event, span_name(trace_name) AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS end_stack, span_id, parent_id, id, amount
FROM events
WHERE kind = 'trace_exit' AND duration > 10000000
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
