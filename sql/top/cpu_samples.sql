-- CPU time by command and stacks, the base of the tables of CPU time.
CREATE OR REPLACE TEMP TABLE cpu_samples AS
SELECT
    command, ustack_id, kstack_id,
    sum(coalesce(weight, 1)) AS samples,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_ns
FROM events
WHERE kind = 'profile'
    AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
