-- What is wrong with the files of a recording, one row for each that is no use: a column that is missing or holds
-- something else, or times whose differences do not fit into 64 bits. They may come from anybody; stacksexport leaves
-- such batches out.

-- From least to most, of each row group, as its end says; is_in_order.sql asks too. (Where an end is damaged, this is run
-- again, for each batch alone.)
CREATE TEMP TABLE IF NOT EXISTS parquet_limits(
    file_name VARCHAR, row_group_id BIGINT, name VARCHAR, least BIGINT, most BIGINT);
INSERT INTO parquet_limits
SELECT
    file_name, row_group_id, path_in_schema, TRY_CAST(stats_min_value AS BIGINT), TRY_CAST(stats_max_value AS BIGINT)
FROM parquet_metadata(getvariable('events_files'))
WHERE path_in_schema IN ('timestamp', 'duration', 'runnable', 'gaps', 'amount');

WITH expected(part, name, holds, needed) AS (
    VALUES
        ('events', 'timestamp', 'int', true), ('events', 'duration', 'int', true), ('events', 'kind', 'text', true),
        ('events', 'cpu', 'int', true), ('events', 'tgid', 'int', true), ('events', 'pid', 'int', true),
        ('events', 'span_id', 'id', true), ('events', 'parent_id', 'id', true), ('events', 'id', 'id', true),
        ('events', 'amount', 'int', true), ('events', 'command', 'text', true),
        ('events', 'trace_name', 'text', true), ('events', 'buildid', 'bytes', true),
        ('events', 'thread', 'text', false), ('events', 'ustack_id', 'id', false),
        ('events', 'kstack_id', 'id', false), ('events', 'unwind', 'text', false), ('events', 'state', 'text', false),
        ('events', 'runnable', 'int', false), ('events', 'gaps', 'int', false), ('events', 'target', 'int', false),
        ('events', 'device', 'text', false), ('events', 'file', 'text', false), ('events', 'fs', 'text', false),
        ('events', 'local', 'text', false), ('events', 'peer', 'text', false), ('events', 'address', 'id', false),
        ('events', 'cgroup', 'text', false), ('events', 'host', 'text', false), ('events', 'weight', 'int', false),
        ('events', 'lost_kind', 'text', false), ('events', 'reason', 'text', false),
        ('stacktraces', 'stack_id', 'id', true), ('stacktraces', 'frames', 'list', true),
        ('stacktraces', 'name', 'text', true), ('stacktraces', 'address', 'id', true),
        ('stacktraces', 'offset', 'id', true), ('stacktraces', 'module', 'text', true),
        ('stacktraces', 'build_id', 'text', false), ('stacktraces', 'file_offset', 'id', false)
), types(holds, types) AS (
    VALUES
        ('int', ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER']),
        ('id', ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT']),
        ('text', ['VARCHAR']),
        ('bytes', ['BLOB', 'VARCHAR']),
        ('list', [NULL]) -- has no type of its own
), found AS (
    SELECT 'events' AS part, file_name, name, duckdb_type, num_children
    FROM parquet_schema(getvariable('events_files'))
    UNION ALL
    SELECT 'stacktraces', file_name, name, duckdb_type, num_children
    FROM parquet_schema(getvariable('stacktraces_files'))
), files AS (
    SELECT DISTINCT part, file_name
    FROM found
), possible(name, least, most) AS (
    VALUES
        ('timestamp', 0, 4e18::BIGINT), ('duration', -5e18::BIGINT, 5e18::BIGINT),
        ('runnable', -4e18::BIGINT, 4e18::BIGINT), ('gaps', -4e18::BIGINT, 4e18::BIGINT), ('amount', 0, 9223372036854775807)
), problems AS (
    SELECT
        file_name,
        'column ' || name || CASE WHEN f.file_name IS NULL THEN ' is missing' ELSE ' holds something else' END AS problem
    FROM files
    JOIN expected USING (part)
    JOIN types USING (holds)
    LEFT JOIN found f USING (part, file_name, name)
    WHERE CASE
        WHEN f.file_name IS NULL THEN needed
        WHEN holds = 'list' THEN num_children IS NULL
        ELSE duckdb_type IS NULL OR NOT list_contains(types, duckdb_type)
    END
    UNION ALL
    SELECT file_name, 'column ' || name || ' holds what cannot be'
    FROM parquet_limits found
    JOIN possible USING (name)
    WHERE found.least < possible.least OR found.most > possible.most
)
SELECT file_name, min(problem) AS problem
FROM problems
GROUP BY file_name
ORDER BY file_name;
