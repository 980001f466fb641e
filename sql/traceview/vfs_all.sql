-- When does each thread read, write, open, sync, rename, remove and look at files?
--     stacksexport trace sql/traceview/vfs_all.sql [-c COMMAND] [-b PROGRAM]
-- A slice per call, with the file and the bytes.
SELECT
    'complete' AS event, concat_ws(' ', kind, file) AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack, amount, fs, reason
FROM events
WHERE starts_with(kind, 'vfs_')
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
