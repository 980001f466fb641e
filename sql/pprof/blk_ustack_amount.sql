-- Which code reads from disks and writes to them, and how much?
--     stacksexport pprof sql/pprof/blk_ustack_amount.sql [-c COMMAND] [-b PROGRAM]
-- count: requests. amount: their bytes. The stack is that of the request. Data that is written back later belongs to
-- the kernel's threads that write it (the column cgroup names the origin). The stack is the user stack, or the kernel
-- stack if there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(amount::HUGEINT * coalesce(weight, 1)) AS amount
FROM events
WHERE kind IN ('blk_read', 'blk_write')
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
