-- What `stacksexport top` shows of the recording in the selected range, and of its stacks: one row. Filters by one value are
-- cheap. A row of kind exit may begin before the recording: a process that ends has lived longer.
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
