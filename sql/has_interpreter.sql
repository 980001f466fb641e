-- 1 when a recording may have frames of interpreters: as the ends of its files say, of which each has to have marks.
SELECT
    (bool_or(stats_min_value <= 'interpreter' AND stats_max_value >= 'interpreter')
        AND count(DISTINCT file_name) = len(getvariable('stacktraces_files')))::BIGINT AS has_interpreter
FROM parquet_metadata(getvariable('stacktraces_files'))
WHERE path_in_schema LIKE 'frames, %, mark';
