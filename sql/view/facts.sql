-- When the recording begins and ends, or the selected range of it, in nanoseconds since 1970. Threads may wait in a range
-- before its first event and after its last one.
SELECT
    coalesce(greatest(getvariable('selected_from'), getvariable('recording_begins')), min(begins), 0) AS begins,
    coalesce(least(getvariable('selected_to'), getvariable('recording_ends')), max(ends), 0) AS ends
FROM page.totals;
