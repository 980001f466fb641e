-- The functions of each stack, each once, and the innermost one: the base of the tables of functions. Functions are numbers
-- here (src/stacksexport/duck/functionids.h), so that each name is handled once. A thread waits in the function that called
-- the scheduler, because the scheduler's own functions are on top of every wait. So are up to three functions of glibc 2.41
-- on top of every blocking call. In a stripped libc they have no name: if only unnamed functions of libc are above it, a
-- thread waits in the first named function of libc.
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
SELECT
    *,
    module = '[kernel]' AND (contains(name, 'schedule') OR name = '__cond_resched')
        OR name IN ('__syscall_cancel_arch', '__internal_syscall_cancel', '__syscall_cancel') AS is_of_waiting,
    module = 'libc.so.6' AS is_of_libc,
    is_of_libc AND (starts_with(name, '+') OR name = '[no symbol]') AS is_unnamed_of_libc,
    is_of_libc AND NOT starts_with(name, '__libc_start') AS is_waited_in
FROM functions_seen();

-- By the number of a function.
SET VARIABLE is_of_waiting = (SELECT list(is_of_waiting ORDER BY id) FROM functions);
SET VARIABLE is_of_libc = (SELECT list(is_of_libc ORDER BY id) FROM functions);
SET VARIABLE is_unnamed_of_libc = (SELECT list(is_unnamed_of_libc ORDER BY id) FROM functions);
SET VARIABLE is_waited_in = (SELECT list(is_waited_in ORDER BY id) FROM functions);

CREATE OR REPLACE TEMP TABLE stack_functions AS
SELECT
    stack_id, leaf, first_of_each(functions) AS functions,
    coalesce(function, leaf) AS waits_in,
    first_of_each(callers[coalesce(list_position(callers, function), 1):]) AS waiting
FROM (
    SELECT
        stack_id, functions, functions[1] AS leaf, callers,
        list_filter(callers, lambda f: NOT getvariable('is_unnamed_of_libc')[f])[1] AS named,
        CASE WHEN getvariable('is_of_libc')[callers[1]] AND getvariable('is_waited_in')[named]
            THEN named ELSE callers[1] END AS function
    FROM (
        SELECT *, list_filter(functions, lambda f: NOT getvariable('is_of_waiting')[f]) AS callers
        FROM numbered_stacks));
