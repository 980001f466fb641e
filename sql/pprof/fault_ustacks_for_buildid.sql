-- Which code of a program touches memory that is not there yet?
--     stacksexport pprof sql/pprof/fault_ustacks_for_buildid.sql -b PROGRAM
-- count: page faults (1 of N is kept, and stands for N). faulted_amount: 4 KiB for each: at least that much became
-- present, or was copied, by this code. The stack is the user's, or the kernel's where there is none.
WITH faults AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(4096 * coalesce(weight, 1))::BIGINT AS faulted_amount
    FROM events
    WHERE kind = 'fault' AND buildid = decode('?buildid', 'hex')
    GROUP BY ALL
)
SELECT frames AS stack, count, faulted_amount
FROM faults
LEFT JOIN stacktraces USING (stack_id);
