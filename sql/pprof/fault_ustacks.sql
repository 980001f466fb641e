-- Which code touches memory that is not mapped yet?
--     stacksexport pprof sql/pprof/fault_ustacks.sql [-c COMMAND] [-b PROGRAM]
-- count: page faults (1 of N is kept, and stands for N). faulted_amount: 4 KiB for each: at least that much became
-- present, or was copied, by this code. The stack is the user's, or the kernel's where there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    4096 * sum(coalesce(weight, 1)) AS faulted_amount
FROM events
WHERE kind = 'fault'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
