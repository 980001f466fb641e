-- `stacksexport trace`, before the queries: the events of all queries, each with the values to draw it. Times are
-- nanoseconds. `stack` and `end_stack` are hashes of the query's; `args` are the values of its other columns. An event
-- that cannot be drawn has a `problem`.
CREATE OR REPLACE TEMP TABLE trace_events (
    query INTEGER, event VARCHAR, name VARCHAR, kind VARCHAR, pid INTEGER, tid INTEGER, cpu BIGINT, amount BIGINT,
    rate BIGINT, begin_ns BIGINT, end_ns BIGINT, stack UBIGINT, end_stack UBIGINT, args VARCHAR[], problem VARCHAR);
