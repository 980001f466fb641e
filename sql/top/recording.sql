-- What `stacksexport top` says of the recording itself: one row.
SELECT
    min(timestamp - duration) AS start_ns,
    max(timestamp) AS end_ns,
    count(*) FILTER (kind != 'lost') AS events,
    count(*) FILTER (ustack_id IS NOT NULL) AS stacks,
    count(*) FILTER (ustack_id IS NOT NULL AND unwind = 'root') AS at_root,
    coalesce(sum(amount) FILTER (kind = 'lost'), 0)::BIGINT AS lost
FROM events;
