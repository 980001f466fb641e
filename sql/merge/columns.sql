-- The columns of the inputs of a part, with their numbers in a file. All inputs of a part have the same columns.
SELECT column_id, path_in_schema
FROM parquet_metadata(getvariable('merge_files')[1])
WHERE row_group_id = 0
ORDER BY column_id;
