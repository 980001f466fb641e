-- Where in its own code does a command spend CPU time?
--     stacksexport pprof sql/pprof/cpu_ustacks_for_command.sql -c COMMAND
-- count: samples. cpu_time: what they stand for. Time inside the kernel counts for the function that called it;
-- [no stack] is time of a thread that has no user stack.
SELECT
    [ustack_id] AS ustack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile' AND command = '?command'
GROUP BY ustack_id;
