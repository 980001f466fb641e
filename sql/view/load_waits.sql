-- Intervals of the view offcpu, without those of threads of the kernel that have no work.
INSERT INTO page.waits
SELECT
    timestamp,
    ends - least(ends - timestamp, coalesce(next_waited, CASE WHEN state = 1 THEN ends - timestamp ELSE 0 END)),
    ends, state, who, ustack_id, kstack_id
FROM (
    SELECT *, greatest(next_begin, timestamp) AS ends
    FROM page.paired_slices
    WHERE next_begin IS NOT NULL AND state != page.state_code('idle'))
UNION ALL
SELECT timestamp - gaps, timestamp - least(gaps, coalesce(runnable, 0)), timestamp, page.state_code('gaps'), who, NULL, NULL
FROM page.slices
WHERE gaps > 0;
