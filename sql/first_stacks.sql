-- The stacks of a recording in which the files mark the stacks that an earlier batch has, too. Those are in row groups of
-- their own, which are not read. The rows are those of the view of sql/stacks.sql that this replaces.
CREATE OR REPLACE VIEW first_stacks AS
SELECT *, file_index, file_row_number
FROM read_parquet(
    getvariable('stacktraces_files'), union_by_name => coalesce(getvariable('unions_columns'), true))
WHERE repeated = 0;

-- The rows that do not count: a recording that was continued, and several recordings, have some stacks more than once.
-- A table, so that DuckDB has its small size for its plans; all connections read it.
CREATE OR REPLACE TABLE further_stacks AS
WITH several AS (
    SELECT stack_id, min((file_index, file_row_number)) AS counts
    FROM first_stacks
    GROUP BY stack_id
    HAVING count(*) > 1
)
SELECT f.file_index, f.file_row_number
FROM first_stacks f
JOIN several s USING (stack_id)
WHERE (f.file_index, f.file_row_number) != s.counts;

CREATE OR REPLACE VIEW whole_stacktraces AS
SELECT stack_id, frames
FROM first_stacks
WHERE (file_index, file_row_number) NOT IN (SELECT (file_index, file_row_number) FROM further_stacks);
