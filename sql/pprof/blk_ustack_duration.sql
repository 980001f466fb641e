-- Which code keeps the disks busy, and for how long?
--     stacksexport pprof sql/pprof/blk_ustack_duration.sql [-c COMMAND] [-b PROGRAM]
-- count: requests. duration: from start to completion. Concurrent requests add up, and perhaps no thread waits for
-- them: offcpu_stacks shows the threads that do. The stack is the user stack, or the kernel stack if there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS duration
FROM events
WHERE kind IN ('blk_read', 'blk_write', 'blk_flush', 'blk_discard')
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
