-- Where does a program spend CPU time, in its own code and in the kernel?
--     stacksexport pprof sql/pprof/cpu_stacks_for_buildid.sql -b PROGRAM
-- count: samples. cpu_time: what they stand for. Kernel frames lie on top of the user frames that called them.
WITH samples AS (
    SELECT
        ustack_id, kstack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(duration * coalesce(weight, 1))::BIGINT AS cpu_time
    FROM events
    WHERE kind = 'profile' AND buildid = decode('?buildid', 'hex')
    GROUP BY ustack_id, kstack_id
)
SELECT list_concat(k.frames, u.frames) AS stack, count, cpu_time
FROM samples
LEFT JOIN stacktraces k ON k.stack_id = kstack_id
LEFT JOIN stacktraces u ON u.stack_id = ustack_id;
