-- Whether all files of events have the same columns, and all files of stacks, and of processes: then DuckDB need not look
-- at each of them whenever a view is used (the variable unions_columns of stacks.sql).
WITH columns AS (
    SELECT 'events' AS part, list(name || ' ' || coalesce(duckdb_type, '') ORDER BY name) AS columns
    FROM parquet_schema(getvariable('events_files'))
    GROUP BY file_name
    UNION ALL
    SELECT 'stacktraces', list(name || ' ' || coalesce(duckdb_type, '') ORDER BY name)
    FROM parquet_schema(getvariable('stacktraces_files'))
    GROUP BY file_name
    UNION ALL
    SELECT 'processes', list(name || ' ' || coalesce(duckdb_type, '') ORDER BY name)
    FROM parquet_schema(coalesce(getvariable('processes_files'), getvariable('stacktraces_files')))
    WHERE getvariable('processes_files') IS NOT NULL
    GROUP BY file_name
)
SELECT (count(DISTINCT (part, columns)) = count(DISTINCT part))::INTEGER AS same
FROM columns;
