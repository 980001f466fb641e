-- The facts of the recording, and of the shown stacks, for `stacksexport top`: one row. Counts with a filter by one
-- value are cheap to read. The duration of an exit event can be longer than the recording.
SELECT
    min(timestamp - duration) FILTER (kind != 'exit') AS start_ns,
    max(timestamp) AS end_ns,
    count(*) - (SELECT count(*) FROM events WHERE kind = 'lost') AS events,
    (
        SELECT count(ustack_id)
        FROM events
        WHERE ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    ) AS stacks,
    (
        SELECT count(ustack_id)
        FROM events
        WHERE unwind = 'root'
            AND ('?command' IS NULL OR command = '?command')
            AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    ) AS at_root,
    (SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost') AS lost
FROM events;
