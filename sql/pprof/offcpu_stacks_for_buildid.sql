-- Where does a program wait instead of running, for whatever reason?
--     stacksexport pprof sql/pprof/offcpu_stacks_for_buildid.sql -b PROGRAM
-- count: intervals. offcpu_time: from leaving the CPU to running again. The stack is where
-- the thread waited. Several threads that wait at a time add up. [no stack]: intervals below the recording's minimum.
WITH waits AS (
    SELECT ustack_id, kstack_id, count(*) AS count, sum(offcpu_ns)::BIGINT AS offcpu_time
    FROM offcpu
    WHERE offcpu_ns > 0 AND buildid = decode('?buildid', 'hex')
    GROUP BY ustack_id, kstack_id
)
SELECT list_concat(k.frames, u.frames) AS stack, count, offcpu_time
FROM waits
LEFT JOIN stacktraces k ON k.stack_id = kstack_id
LEFT JOIN stacktraces u ON u.stack_id = ustack_id;
