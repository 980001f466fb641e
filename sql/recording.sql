-- What a profile has of the recording, or of its selected range: when it began, how long it is (several recordings: the
-- sum), and the time of a sample of kind 'profile' if it is the same for all.
-- A process that ends has lived longer than the recording (exit). In a fleet folder, what a host recorded is a recording.
WITH batches AS (
    SELECT
        file_index, coalesce(host, '') AS host,
        min(timestamp - duration) FILTER (kind != 'exit') AS start_ns,
        max(timestamp) AS end_ns,
        min(duration) FILTER (kind = 'profile') AS shortest,
        max(duration) FILTER (kind = 'profile') AS longest
    FROM read_parquet(getvariable('events_files'), union_by_name => coalesce(getvariable('unions_columns'), true))
    GROUP BY ALL
), recordings AS (
    SELECT
        selected_begin(min(start_ns)) AS start_ns, selected_ns(min(start_ns), max(end_ns)) AS wall_ns,
        min(shortest) AS shortest, max(longest) AS longest
    FROM (SELECT *, getvariable('events_files')[file_index::BIGINT + 1] AS file FROM batches)
    GROUP BY CASE WHEN starts_with(parse_filename(file), 'part-') THEN host ELSE parse_dirpath(file) END
)
SELECT
    min(start_ns) AS start_ns,
    sum(wall_ns) AS wall_ns,
    CASE WHEN min(shortest) = max(longest) THEN min(shortest) ELSE 0 END AS period_ns
FROM recordings;
