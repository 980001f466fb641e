-- The sources that the files merge_files were recorded with, in one list ("profile,switch").
SELECT coalesce(string_agg(DISTINCT source, ',' ORDER BY source), '') AS sources
FROM (
    SELECT unnest(string_split(decode(value), ',')) AS source
    FROM parquet_kv_metadata(getvariable('merge_files'))
    WHERE key = 'stacks.sources'::BLOB)
WHERE source != '';
