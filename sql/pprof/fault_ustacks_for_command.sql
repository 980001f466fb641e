-- Which code of a command touches memory that is not there yet?
--     stacksexport pprof sql/pprof/fault_ustacks_for_command.sql -c COMMAND
-- count: page faults (1 of N is kept, and stands for N). faulted_amount: 4 KiB for each: at least that much became
-- present, or was copied, by this code. The stack is the user's, or the kernel's where there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    4096 * sum(coalesce(weight, 1)) AS faulted_amount
FROM events
WHERE kind = 'fault' AND command = '?command'
GROUP BY coalesce(ustack_id, kstack_id);
