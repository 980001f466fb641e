-- When the recording begins and ends, or the selected range of it, in nanoseconds since 1970, and how long after the
-- recording the range begins. Threads may wait in a range before its first event and after its last one. A recording that
-- is still written ends later than it did when it was opened.
WITH recording AS (
    SELECT
        coalesce(getvariable('recording_begins'), min(begins), 0) AS begin_ns,
        coalesce(greatest(getvariable('recording_ends'), max(ends)), 0) AS end_ns
    FROM page.totals
)
SELECT
    greatest(getvariable('selected_from'), begin_ns) AS begins,
    least(getvariable('selected_to'), end_ns) AS ends,
    begins - begin_ns AS after_ns
FROM recording;
