-- CPU time by whom (who.sql) and stacks, the base of the tables of CPU time.
CREATE OR REPLACE TEMP TABLE cpu_samples AS
SELECT
    who_of(command, thread, tgid, pid, cgroup, trace_name, host) AS who, ustack_id, kstack_id,
    sum(coalesce(weight, 1)) AS samples,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_ns
FROM events
WHERE kind = 'profile'
    AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
