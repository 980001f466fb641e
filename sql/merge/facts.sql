-- What a merge needs to know of its inputs, from the ends of the files: the number in the list merge_files, rows, first and
-- last time (null: a row group does not have them), a number for the names and types of its columns, and the set of columns
-- that have a value in it, by their numbers.
SELECT
    list_position(getvariable('merge_files'), file_name)::BIGINT AS number,
    coalesce(sum(num_values) FILTER (path_in_schema IN ('timestamp', 'stack_id')), 0)::BIGINT AS row_cnt,
    CASE WHEN bool_and(stats_min_value IS NOT NULL) FILTER (path_in_schema = 'timestamp')
        THEN min(TRY_CAST(stats_min_value AS BIGINT)) FILTER (path_in_schema = 'timestamp') END AS first_ns,
    CASE WHEN bool_and(stats_max_value IS NOT NULL) FILTER (path_in_schema = 'timestamp')
        THEN max(TRY_CAST(stats_max_value AS BIGINT)) FILTER (path_in_schema = 'timestamp') END AS last_ns,
    (hash(list(path_in_schema || ' ' || type ORDER BY column_id) FILTER (row_group_id = 0)) >> 1)::BIGINT AS columns,
    bit_or(CASE WHEN column_id < 63 AND coalesce(stats_null_count < num_values, true) THEN 1::BIGINT << column_id ELSE 0 END)
        AS with_values
FROM parquet_metadata(getvariable('merge_files'))
GROUP BY file_name;
