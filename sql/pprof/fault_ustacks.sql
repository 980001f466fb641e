-- Which code touches memory that is not mapped yet?
--     stacksexport pprof sql/pprof/fault_ustacks.sql [-c COMMAND] [-b PROGRAM]
-- count: page faults (1 of N is recorded, and represents N). faulted_amount: 4 KiB per fault: at least this much memory
-- became present, or was copied, because of this code. The stack is the user stack, or the kernel stack if there is
-- none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    4096 * sum(coalesce(weight, 1)) AS faulted_amount
FROM events
WHERE kind = 'fault'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
