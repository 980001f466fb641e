-- What a profile says of the recording: when it began, how long it is (of several: the sum), what a sample of
-- kind 'profile' stands for where all stand for the same, and how many events were lost (lost notices of processes are
-- none).
-- A process that ends has lived longer than the recording (exit).
WITH recordings AS (
    SELECT
        min(timestamp - duration) FILTER (kind != 'exit') AS start_ns,
        max(timestamp) - min(timestamp - duration) FILTER (kind != 'exit') AS wall_ns,
        min(duration) FILTER (kind = 'profile') AS shortest,
        max(duration) FILTER (kind = 'profile') AS longest,
        sum(amount) FILTER (kind = 'lost' AND lost_kind IS DISTINCT FROM 'process') AS lost
    FROM read_parquet(getvariable('events_files'), union_by_name => true)
    GROUP BY parse_dirpath(filename)
)
SELECT
    min(start_ns) AS start_ns,
    sum(wall_ns)::BIGINT AS wall_ns,
    CASE WHEN min(shortest) = max(longest) THEN min(shortest) ELSE 0 END AS period_ns,
    coalesce(sum(lost), 0)::BIGINT AS lost
FROM recordings;
