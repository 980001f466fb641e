-- The facts of a recording for a profile: its start, its length (of several recordings: the sum), and the time that a
-- sample of kind 'profile' represents, if it is the same for all. The duration of an exit event can be longer than the
-- recording.
WITH batches AS (
    SELECT
        file_index,
        min(timestamp - duration) FILTER (kind != 'exit') AS start_ns,
        max(timestamp) AS end_ns,
        min(duration) FILTER (kind = 'profile') AS shortest,
        max(duration) FILTER (kind = 'profile') AS longest
    FROM read_parquet(getvariable('events_files'), union_by_name => true)
    GROUP BY file_index
), recordings AS (
    SELECT
        min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS wall_ns,
        min(shortest) AS shortest, max(longest) AS longest
    FROM batches
    GROUP BY parse_dirpath(getvariable('events_files')[file_index::BIGINT + 1])
)
SELECT
    min(start_ns) AS start_ns,
    sum(wall_ns) AS wall_ns,
    CASE WHEN min(shortest) = max(longest) THEN min(shortest) ELSE 0 END AS period_ns
FROM recordings;
