-- Where the threads of each stack wait, and whether they wait for work: src/stacksexport/model/waiting.h has the rules.
-- `call` is the function that was called to wait, `waits_in` the one that explains the wait, `waiting` that one and its
-- callers, each once.
CREATE OR REPLACE TEMP TABLE waiting_functions AS
WITH found AS (
    SELECT stack_id, waiting_of(functions) AS numbers
    FROM numbered_stacks
    WHERE coalesce(
        stack_id IN (SELECT stack_id FROM offcpu_waits UNION SELECT ustack_id FROM cpu_samples), false)
)
SELECT
    stack_id, nullif(numbers[1], 0) AS call, nullif(numbers[2], 0) AS waits_in, first_of_each(numbers[4:]) AS waiting,
    numbers[3] = 1 AS is_idle
FROM found;
