-- Whether the first batch that has a stack is known without reading all stacks: the collector wrote all files, and marked
-- the stacks that an earlier batch of the recording has, too. No earlier batch may be missing.
WITH files AS (
    SELECT
        parse_dirpath(file_name) AS folder, regexp_extract(file_name, '([0-9]+)\.parquet$', 1)::BIGINT AS number
    FROM parquet_schema(getvariable('stacktraces_files'))
    WHERE name = 'repeated' AND duckdb_type = 'INTEGER'
), folders AS (
    SELECT count(*) AS files, min(number) = 1 AND max(number) = count(DISTINCT number) AS is_whole
    FROM files
    GROUP BY folder
)
SELECT (coalesce(bool_and(is_whole), false) AND sum(files) = len(getvariable('stacktraces_files')))::INTEGER AS has_first
FROM folders;
