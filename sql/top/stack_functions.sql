-- The functions of each stack, each once, and the innermost one: the base of the tables of functions. A thread waits in
-- the function that called the scheduler, because the scheduler's own functions are on top of every wait. So are up to
-- three functions of glibc 2.41 on top of every blocking call. In a stripped libc they have no name: if only unnamed
-- functions of libc are above it, a thread waits in the first named function of libc.
CREATE OR REPLACE MACRO is_of_waiting(f) AS
    f.module = '[kernel]' AND (contains(f.name, 'schedule') OR f.name = '__cond_resched')
    OR f.name IN ('__syscall_cancel_arch', '__internal_syscall_cancel', '__syscall_cancel');
CREATE OR REPLACE MACRO is_unnamed_of_libc(f) AS
    f.module = 'libc.so.6' AND (starts_with(f.name, '+') OR f.name = '[no symbol]');
CREATE OR REPLACE MACRO waits_in(callers, named) AS
    CASE WHEN callers[1].module = 'libc.so.6' AND named.module = 'libc.so.6' AND NOT starts_with(named.name, '__libc_start')
        THEN named ELSE callers[1] END;
CREATE OR REPLACE TEMP TABLE stack_functions AS
SELECT
    stack_id, leaf, list_distinct(functions) AS functions,
    coalesce(function, leaf) AS waits_in,
    list_distinct(callers[coalesce(list_position(callers, function), 1):]) AS waiting
FROM (
    SELECT
        stack_id, functions, functions[1] AS leaf, callers,
        waits_in(callers, list_filter(callers, lambda f: NOT is_unnamed_of_libc(f))[1]) AS function
    FROM (
        SELECT *, list_filter(functions, lambda f: NOT is_of_waiting(f)) AS callers
        FROM (
            SELECT
                stack_id,
                list_transform(frames, lambda f: function_of(f)) AS functions
            FROM stacktraces)));
