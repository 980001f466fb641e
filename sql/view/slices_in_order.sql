-- These pairs in one pass, as the rows of the recording lie in the order of time (sql/in_order.sql).
CREATE OR REPLACE VIEW page.paired_slices AS
FROM following($$
    SELECT
        key, timestamp AS moment, begin, false AS is_mark, is_end, timestamp, state, thread_key, ustack_id, kstack_id,
        begin AS next_begin, runnable - least(runnable, coalesce(gaps, 0)) AS next_waited
    FROM page.slices
$$, len(getvariable('events_files')));
