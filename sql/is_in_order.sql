-- Whether the rows of a recording lie in the order of time from its first file to its last: the collector sorts each row
-- group, and here no group begins before another's end. All files have the same columns, as groups of them are read then.
WITH groups AS (
    SELECT DISTINCT
        least AS begins, most AS ends, list_position(getvariable('events_files'), file_name) AS file, row_group_id
    FROM parquet_limits -- of files.sql
    WHERE name = 'timestamp' AND file IS NOT NULL
), neighbours AS (
    SELECT begins, ends, lag(ends, 1, begins) OVER (ORDER BY file, row_group_id) AS ended
    FROM groups
), writers AS (
    SELECT count(DISTINCT file_name) AS files
    FROM parquet_kv_metadata(getvariable('events_files'))
    WHERE key = 'stacks.schema_version'::BLOB
)
SELECT (
    (SELECT coalesce(bool_and(coalesce(begins >= ended, false) AND ends IS NOT NULL), false) FROM neighbours)
    AND NOT coalesce(getvariable('unions_columns'), true) -- files are read one after the other
    AND (SELECT files FROM writers) = len(getvariable('events_files')))::INTEGER AS in_order;
