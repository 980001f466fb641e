-- Where does a program spend CPU time, in its own code and in the kernel?
--     stacksexport pprof sql/pprof/cpu_stacks_for_buildid.sql -b PROGRAM
-- count: samples. cpu_time: what they stand for. Kernel frames lie on top of the user frames that called them.
SELECT
    [kstack_id, ustack_id] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile' AND buildid = decode('?buildid', 'hex')
GROUP BY ustack_id, kstack_id;
