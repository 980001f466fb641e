-- What `stacksexport top` says of the recording itself: one row.
-- A process that ends has lived longer than the recording (exit).
SELECT
    min(timestamp - duration) FILTER (kind != 'exit') AS start_ns,
    max(timestamp) AS end_ns,
    count(*) FILTER (kind != 'lost') AS events,
    count(*) FILTER (ustack_id IS NOT NULL) AS stacks,
    count(*) FILTER (ustack_id IS NOT NULL AND unwind = 'root') AS at_root,
    coalesce(sum(amount) FILTER (kind = 'lost'), 0)::BIGINT AS lost
FROM events;
