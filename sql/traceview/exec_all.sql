-- When do processes and threads begin and end?
--     stacksexport trace sql/traceview/exec_all.sql [-c COMMAND] [-b PROGRAM]
-- Instants at which a thread starts another thread or a program, or ends, with the stack.
SELECT
    'instant' AS event, concat_ws(' ', kind, target) AS name, tgid AS pid, pid AS tid, kind, cpu,
    timestamp * 0.001 AS timestamp, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack
FROM events
WHERE kind IN ('exec', 'exit', 'fork')
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
