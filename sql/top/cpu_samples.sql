-- CPU time by group (group_of) and stacks. The tables of CPU time are made from it.
CREATE OR REPLACE TEMP TABLE cpu_samples AS
SELECT
    group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS group_name, ustack_id, kstack_id,
    sum(coalesce(weight, 1)) AS samples,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_ns
FROM events
WHERE kind = 'profile'
    AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
