-- The frames of each stack, for the tree of stacks that the server keeps.
SELECT stack_id::UBIGINT AS stack_id, frames
FROM stacktraces;
