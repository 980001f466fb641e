-- Where does a program wait instead of running, for whatever reason?
--     stacksexport pprof sql/pprof/offcpu_stacks_for_buildid.sql -b PROGRAM
-- count: intervals. offcpu_time: from leaving the CPU to running again. The stack is where
-- the thread waited. Several threads that wait at a time add up. [no stack]: intervals below the recording's minimum.
SELECT [kstack_id, ustack_id] AS stack, count(*) AS count, sum(offcpu_ns) AS offcpu_time
FROM offcpu
WHERE offcpu_ns > 0 AND buildid = decode('?buildid', 'hex')
GROUP BY ustack_id, kstack_id;
