-- 1 if the recording may have frames of interpreters, by the statistics at the ends of its files, and each file with rows
-- has the field `mark`.
SELECT coalesce(bool_or(may_have) AND bool_and(has_marks), false)::BIGINT AS has_interpreter
FROM (
    SELECT
        bool_or(path_in_schema LIKE 'frames, %, mark') AS has_marks,
        bool_or(path_in_schema LIKE 'frames, %, mark' AND stats_min_value <= 'interpreter'
            AND stats_max_value >= 'interpreter') AS may_have
    FROM parquet_metadata(getvariable('stacktraces_files'))
    GROUP BY file_name
);
