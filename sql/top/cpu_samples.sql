-- CPU time by command and stacks: what the tables of CPU time are made of.
CREATE OR REPLACE TEMP TABLE cpu_samples AS
SELECT
    command, ustack_id, kstack_id,
    sum(coalesce(weight, 1)) AS samples,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_ns
FROM events
WHERE kind = 'profile'
    AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
