-- What `stacksexport top` says of the recording in the selected range, and of the stacks that it shows: one row. What a
-- filter by one value counts is read for little. A process that ends has lived longer than the recording (exit).
SELECT
    selected_begin(min(timestamp - duration) FILTER (kind != 'exit')) AS start_ns,
    least(max(timestamp), getvariable('selected_to')) AS end_ns,
    (SELECT count(*) FROM all_events WHERE in_selected_range(timestamp))
        - (SELECT count(*) FROM all_events WHERE kind = 'lost' AND in_selected_range(timestamp)) AS events,
    (
        SELECT count(ustack_id)
        FROM events
        WHERE '?buildid' IS NULL OR buildid = unhex('?buildid')
    ) AS stacks,
    (
        SELECT count(ustack_id)
        FROM events
        WHERE unwind = 'root'
            AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    ) AS at_root,
    (
        SELECT coalesce(sum(amount), 0)
        FROM all_events
        WHERE kind = 'lost' AND in_selected_range(timestamp)
    ) AS lost
FROM all_events;
