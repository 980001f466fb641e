SELECT stack_id::UBIGINT AS stack_id, frames
FROM stacktraces;
