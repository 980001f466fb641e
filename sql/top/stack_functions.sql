-- The functions of each stack, each once, and the innermost one: the base of the tables of functions. Functions are numbers
-- here (src/stacksexport/duck/functionids.h), so that each name is handled once. In which function a thread waits, and
-- whether it waits for work, is waiting_functions.sql's.
CREATE OR REPLACE TEMP TABLE numbered_stacks AS
SELECT stack_id, function_ids(frames) AS functions
FROM stacktraces
WHERE coalesce(
    stack_id IN (
        SELECT ustack_id FROM cpu_samples
        UNION
        SELECT kstack_id FROM cpu_samples
        UNION
        SELECT stack_id FROM offcpu_waits),
    false);

CREATE OR REPLACE TEMP TABLE functions AS
FROM functions_seen();

-- By the number of a function, for advice.sql.
SET VARIABLE modules = (SELECT list(module ORDER BY id) FROM functions);
SET VARIABLE is_unnamed = (SELECT list(starts_with(name, '+') OR name = '[no symbol]' ORDER BY id) FROM functions);

CREATE OR REPLACE TEMP TABLE stack_functions AS
SELECT stack_id, functions[1] AS leaf, first_of_each(functions) AS functions
FROM numbered_stacks;
