-- Which code writes files and pipes, and how much?
--     stacksexport pprof sql/pprof/vfs_write_amount.sql [-c COMMAND] [-b PROGRAM]
-- count: calls. amount: bytes that were written, to a disk or memory; a failed call has none. The stack is the user
-- stack, or the kernel stack if there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(amount::HUGEINT * coalesce(weight, 1)) AS amount
FROM events
WHERE kind = 'vfs_write'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
