-- Problems of the files of a recording, one row for each unusable file: a column that is missing or has another type,
-- or times with differences that do not fit into 64 bits. Any user may have made the files; stacksexport leaves out
-- such batches.

-- The smallest and the largest value of each row group, according to the file's footer; is_in_order.sql also uses this.
-- (If a footer is damaged, the query runs again for each batch alone.)
CREATE TEMP TABLE IF NOT EXISTS parquet_limits(
    file_name VARCHAR, row_group_id BIGINT, name VARCHAR, least BIGINT, most BIGINT);
INSERT INTO parquet_limits
SELECT
    file_name, row_group_id, path_in_schema, TRY_CAST(stats_min_value AS BIGINT), TRY_CAST(stats_max_value AS BIGINT)
FROM parquet_metadata(getvariable('events_files'))
WHERE path_in_schema IN ('timestamp', 'duration', 'runnable', 'gaps', 'amount');

-- needed: 'each' file must have it; or 'one' at least, because sql/stacks.sql and sql/top/ read it, and it is null in
-- files that lack it.
WITH expected(part, name, holds, needed) AS (
    VALUES
        ('events', 'timestamp', 'int', 'each'), ('events', 'duration', 'int', 'each'),
        ('events', 'kind', 'text', 'each'), ('events', 'cpu', 'int', 'each'), ('events', 'tgid', 'int', 'each'),
        ('events', 'pid', 'int', 'each'), ('events', 'span_id', 'id', 'each'), ('events', 'parent_id', 'id', 'each'),
        ('events', 'id', 'id', 'each'), ('events', 'amount', 'int', 'each'), ('events', 'command', 'text', 'each'),
        ('events', 'trace_name', 'text', 'each'), ('events', 'buildid', 'bytes', 'each'),
        ('events', 'thread', 'text', 'one'), ('events', 'ustack_id', 'id', 'one'), ('events', 'kstack_id', 'id', 'one'),
        ('events', 'unwind', 'text', 'one'), ('events', 'state', 'text', 'one'), ('events', 'runnable', 'int', 'one'),
        ('events', 'gaps', 'int', 'one'), ('events', 'target', 'int', 'one'), ('events', 'device', 'text', 'no'),
        ('events', 'file', 'text', 'no'), ('events', 'fs', 'text', 'no'), ('events', 'local', 'text', 'no'),
        ('events', 'peer', 'text', 'no'), ('events', 'address', 'id', 'no'), ('events', 'cgroup', 'text', 'one'),
        ('events', 'host', 'text', 'one'), ('events', 'weight', 'int', 'one'), ('events', 'lost_kind', 'text', 'one'),
        ('events', 'reason', 'text', 'one'), ('events', 'probe', 'text', 'no'), ('events', 'args', 'text', 'no'),
        ('stacktraces', 'stack_id', 'id', 'each'), ('stacktraces', 'frames', 'list', 'each'),
        ('stacktraces', 'name', 'text', 'each'), ('stacktraces', 'address', 'id', 'each'),
        ('stacktraces', 'offset', 'id', 'each'), ('stacktraces', 'module', 'text', 'each'),
        ('stacktraces', 'build_id', 'text', 'no'), ('stacktraces', 'file_offset', 'id', 'no'),
        ('processes', 'timestamp', 'int', 'each'), ('processes', 'tgid', 'int', 'each'),
        ('processes', 'start', 'int', 'no'), ('processes', 'parent', 'int', 'no'),
        ('processes', 'command_line', 'text', 'no'), ('processes', 'executable', 'text', 'no'),
        ('processes', 'cgroup', 'text', 'no'), ('processes', 'uid', 'int', 'no'), ('processes', 'user', 'text', 'no'),
        ('processes', 'host', 'text', 'no'), ('processes', 'container_name', 'text', 'no')
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
    UNION ALL
    SELECT 'processes', file_name, name, duckdb_type, num_children
    FROM parquet_schema(coalesce(getvariable('processes_files'), getvariable('stacktraces_files')))
    WHERE getvariable('processes_files') IS NOT NULL
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
        WHEN f.file_name IS NULL
            THEN needed = 'each' OR needed = 'one' AND (part, name) NOT IN (SELECT (part, name) FROM found)
        WHEN holds = 'list' THEN num_children IS NULL
        ELSE duckdb_type IS NULL OR NOT list_contains(types, duckdb_type)
    END
    UNION ALL
    SELECT file_name, 'column ' || name || ' holds what cannot be'
    FROM parquet_limits found
    JOIN possible USING (name)
    WHERE found.least < possible.least OR found.most > possible.most
    UNION ALL
    SELECT file_name, 'column frames holds lists in lists'
    FROM parquet_metadata(getvariable('stacktraces_files'))
    WHERE starts_with(path_in_schema, 'frames, ') AND path_in_schema LIKE 'frames, %, %, %, %, name'
)
SELECT file_name, min(problem) AS problem
FROM problems
GROUP BY file_name
ORDER BY file_name;
