-- Which requests go to the disks, when, and which threads made them?
--     stacksexport trace sql/traceview/blk_all.sql [-c COMMAND] [-b PROGRAM]
-- One slice per request from start to completion, on the thread that made it. Requests overlap: a thread has as many
-- lines as it has requests at a time.
SELECT
    'complete' AS event, concat_ws(' ', kind, device) AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack, amount, cgroup, reason
FROM events
WHERE kind IN ('blk_read', 'blk_write', 'blk_flush', 'blk_discard')
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
