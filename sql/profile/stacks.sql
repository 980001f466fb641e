-- `stacksexport pprof`: the frames of the stacks that the rows of a query, which are in profile_samples, consist of.
-- coalesce() is there for DuckDB to look each stack up among these: of the two sides of IN alone it may collect the frames.
SELECT stack_id, frames
FROM stacktraces
WHERE coalesce(stack_id IN (SELECT unnest(stack).stack_id FROM profile_samples), false);
