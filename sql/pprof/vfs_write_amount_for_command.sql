-- Which code of a command writes files and pipes, and how much?
--     stacksexport pprof sql/pprof/vfs_write_amount_for_command.sql -c COMMAND
-- count: calls. amount: bytes that were really written, to a disk or memory; a call that failed has none. The stack is
-- the user's, or the kernel's where there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(amount::HUGEINT * coalesce(weight, 1)) AS amount
FROM events
WHERE kind = 'vfs_write' AND command = '?command'
GROUP BY coalesce(ustack_id, kstack_id);
