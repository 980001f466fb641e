-- The stacks of a recording whose files say of each stack whether an earlier batch has it, too: those are in row groups of
-- their own, which are not read. The same rows as those of the view of sql/stacks.sql that this replaces. A recording that
-- was continued, and several recordings, have some of them more than once.
CREATE OR REPLACE VIEW stacktraces AS
SELECT stack_id, frames
FROM read_parquet(getvariable('stacktraces_files'), union_by_name => true)
WHERE repeated = 0
    AND (file_index, file_row_number) IN (
        SELECT min(file_index), arg_min(file_row_number, file_index)
        FROM read_parquet(getvariable('stacktraces_files'), union_by_name => true)
        WHERE repeated = 0
        GROUP BY stack_id);
