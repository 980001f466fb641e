-- `stacksexport pprof`: the frames of the stacks in the rows of a query, which are in profile_samples.
SELECT stack_id, frames
FROM stacktraces
WHERE stack_id IN (SELECT unnest(stack).stack_id FROM profile_samples);
