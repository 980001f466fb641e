-- Intervals of the view offcpu, without those of threads of the kernel that have no work; in a selected range, the parts
-- in it.
INSERT INTO page.waits
SELECT
    selected_begin(begins), least(selected_begin(woken), least(ends, getvariable('selected_to'))),
    least(ends, getvariable('selected_to')), state, who, ustack_id, kstack_id
FROM (
    SELECT
        timestamp AS begins, greatest(next_begin, timestamp) AS ends,
        ends - least(ends - begins, coalesce(next_waited, CASE WHEN state = 1 THEN ends - begins ELSE 0 END)) AS woken,
        state, thread_key, ustack_id, kstack_id
    FROM page.paired_slices
    WHERE next_begin IS NOT NULL AND state != page.state_code('idle')
    UNION ALL
    SELECT
        timestamp - gaps, timestamp, timestamp - least(gaps, coalesce(runnable, 0)), page.state_code('gaps'), thread_key,
        NULL, NULL
    FROM page.slices
    WHERE gaps > 0 AND in_selected_range(timestamp))
JOIN page.threads t ON t.key = thread_key
WHERE coalesce(getvariable('selected_kind'), 'switch') = 'switch'
    AND (NOT has_selected_range() OR selected_ns(begins, ends) > 0);
