-- Where does the whole machine, or all that was recorded, spend CPU time?
--     stacksexport pprof sql/pprof/cpu_stacks.sql
-- count: samples. cpu_time: what they stand for. Kernel frames lie on top of the user frames that called them.
SELECT
    [kstack_id, ustack_id] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_time
FROM events
WHERE kind = 'profile'
GROUP BY ustack_id, kstack_id;
