-- Which sources a recording is of ("profile,switch"): what stacksexport says when a query has no result.
SELECT DISTINCT decode(value) AS sources
FROM parquet_kv_metadata(getvariable('events_files'))
WHERE key = 'stacks.sources'::BLOB;
