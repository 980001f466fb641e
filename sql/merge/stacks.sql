-- The stacks of one part of a fleet folder: those of merge_files that the day (the view merged_stacks) does not have, each
-- once. The ids alone determine these rows; frames are read only for them. The union with a row that has all fields
-- makes those null that the recordings lack.
WITH chosen AS (
    SELECT min(file_index) AS file_index, arg_min(file_row_number, file_index) AS file_row_number
    FROM read_parquet(getvariable('merge_files'), hive_partitioning => false) f
    WHERE signed_id(f.stack_id) NOT IN (SELECT m.stack_id FROM merged_stacks m)
    GROUP BY f.stack_id
), found AS (
    SELECT f.stack_id, f.frames
    FROM read_parquet(getvariable('merge_files'), hive_partitioning => false) f
    WHERE (f.file_index, f.file_row_number) IN (SELECT (c.file_index, c.file_row_number) FROM chosen c)
), whole AS (
    SELECT
        NULL::UBIGINT AS stack_id,
        NULL::STRUCT(
            name VARCHAR, address UBIGINT, "offset" UBIGINT, module VARCHAR, build_id VARCHAR, file_offset UBIGINT,
            mark VARCHAR, line INTEGER, file VARCHAR)[] AS frames
    WHERE false
    UNION ALL BY NAME
    FROM found
)
SELECT
    signed_id(stack_id) AS stack_id,
    list_transform(frames, lambda f: {
        'name': f.name, 'address': signed_id(f.address), 'offset': signed_id(f."offset"), 'module': f.module,
        'build_id': f.build_id, 'file_offset': signed_id(f.file_offset), 'mark': f.mark, 'line': f.line,
        'file': f.file}) AS frames
FROM whole
