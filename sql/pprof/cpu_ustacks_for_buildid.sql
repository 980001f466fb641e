-- Where in its own code does a program spend CPU time?
--     stacksexport pprof sql/pprof/cpu_ustacks_for_buildid.sql -b PROGRAM
-- count: samples. cpu_time: what they stand for. Time inside the kernel counts for the function that called it;
-- [no stack] is time of a thread that has no user stack.
SELECT
    [ustack_id] AS ustack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile' AND buildid = decode('?buildid', 'hex')
GROUP BY ustack_id;
