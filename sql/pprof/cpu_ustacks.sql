-- Where do programs spend CPU time in their own code?
--     stacksexport pprof sql/pprof/cpu_ustacks.sql [-c COMMAND] [-b PROGRAM]
-- count: samples. cpu_time: the time that they represent. Time in the kernel counts for the function that called it;
-- [no stack] is time of threads without a user stack.
SELECT
    [ustack_id] AS ustack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id;
