-- The first tables of stacks.sql, over the parts of fleet folders (docs/fleet.md) and perhaps recordings besides them.
-- stacksexport runs it before stacks.sql, which keeps them. Ids and addresses have a sign in a fleet folder; here they have
-- none, as in a recording.
CREATE OR REPLACE MACRO unsigned_id(id) AS
    CASE WHEN id < 0 THEN (id::HUGEINT + 18446744073709551616)::UBIGINT ELSE id::UBIGINT END;

CREATE OR REPLACE VIEW all_events AS
SELECT * REPLACE (
    unsigned_id(span_id) AS span_id, unsigned_id(parent_id) AS parent_id, unsigned_id(id) AS id,
    unsigned_id(ustack_id) AS ustack_id, unsigned_id(kstack_id) AS kstack_id, unsigned_id(address) AS address)
FROM read_parquet(
    getvariable('events_files'), union_by_name => coalesce(getvariable('unions_columns'), true),
    hive_partitioning => false);

-- A stack is in the part of each day that has it: the row in the first of them counts. The union with a row that has all
-- fields makes those null that older parts lack.
CREATE OR REPLACE VIEW whole_stacktraces AS
SELECT
    unsigned_id(stack_id) AS stack_id,
    list_transform(frames, lambda f: {
        'name': f.name, 'address': unsigned_id(f.address), 'offset': unsigned_id(f."offset"), 'module': f.module,
        'build_id': f.build_id, 'file_offset': unsigned_id(f.file_offset), 'mark': f.mark, 'line': f.line,
        'file': f.file}) AS frames
FROM (
    SELECT
        NULL::BIGINT AS stack_id,
        NULL::STRUCT(
            name VARCHAR, address BIGINT, "offset" BIGINT, module VARCHAR, build_id VARCHAR, file_offset BIGINT,
            mark VARCHAR, line INTEGER, file VARCHAR)[] AS frames
    WHERE false
    UNION ALL BY NAME
    SELECT stack_id, frames
    FROM read_parquet(
        getvariable('stacktraces_files'), union_by_name => coalesce(getvariable('unions_columns'), true),
        hive_partitioning => false)
    WHERE (file_index, file_row_number) IN (
        SELECT min(file_index), arg_min(file_row_number, file_index)
        FROM read_parquet(
            getvariable('stacktraces_files'), union_by_name => coalesce(getvariable('unions_columns'), true),
            hive_partitioning => false)
        GROUP BY unsigned_id(stack_id)));
