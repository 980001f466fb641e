-- The sources of a recording ("profile,switch"): stacksexport uses them to explain why a query has no result.
SELECT DISTINCT decode(value) AS sources
FROM parquet_kv_metadata(getvariable('events_files'))
WHERE key = 'stacks.sources'::BLOB;
