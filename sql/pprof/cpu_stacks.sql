-- Where do programs spend CPU time, in their own code and in the kernel?
--     stacksexport pprof sql/pprof/cpu_stacks.sql [-c COMMAND] [-b PROGRAM]
-- count: samples. cpu_time: the time that they represent. Kernel frames are on top of the user frames that called them.
SELECT
    [kstack_id, ustack_id] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id, kstack_id;
