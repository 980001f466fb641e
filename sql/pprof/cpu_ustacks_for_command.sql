-- Where in its own code does a command spend CPU time?
--     stacksexport pprof sql/pprof/cpu_ustacks_for_command.sql -c COMMAND
-- count: samples. cpu_time: what they stand for. Time inside the kernel counts for the function that called it;
-- [no stack] is time of a thread that has no user stack.
WITH samples AS (
    SELECT
        ustack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(duration * coalesce(weight, 1))::BIGINT AS cpu_time
    FROM events
    WHERE kind = 'profile' AND command = '?command'
    GROUP BY ustack_id
)
SELECT frames AS ustack, count, cpu_time
FROM samples
LEFT JOIN stacktraces ON stack_id = ustack_id;
