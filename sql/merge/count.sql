-- How many rows the inputs of a part have.
SELECT count(*) AS row_cnt
FROM read_parquet(getvariable('merge_files'), hive_partitioning => false)
WHERE timestamp >= getvariable('merge_from') AND timestamp < getvariable('merge_to');
