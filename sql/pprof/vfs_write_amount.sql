-- Which code writes files and pipes, and how much?
--     stacksexport pprof sql/pprof/vfs_write_amount.sql [-c COMMAND] [-b PROGRAM]
-- count: calls. amount: bytes that were really written, to a disk or memory; a call that failed has none. The stack is
-- the user's, or the kernel's where there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(amount::HUGEINT * coalesce(weight, 1)) AS amount
FROM events
WHERE kind = 'vfs_write'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
