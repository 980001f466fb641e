-- The functions of each stack, each once, and the innermost one: what the tables of functions are made of. A thread
-- waits in who called the scheduler, whose own functions are on top of every wait.
CREATE OR REPLACE TEMP TABLE stack_functions AS
SELECT
    stack_id, functions[1] AS leaf, list_distinct(functions) AS functions,
    coalesce(callers[1], leaf) AS waits_in, list_distinct(callers) AS waiting
FROM (
    SELECT
        *,
        list_filter(
            functions,
            lambda f: f.module != '[kernel]' OR NOT (contains(f.name, 'schedule') OR f.name = '__cond_resched')) AS callers
    FROM (
        SELECT
            stack_id,
            list_transform(frames, lambda f: function_of(f)) AS functions
        FROM stacktraces));
