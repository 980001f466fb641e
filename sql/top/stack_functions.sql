-- The functions of each stack, each once, and the innermost one: what the tables of functions are made of.
CREATE OR REPLACE TEMP TABLE stack_functions AS
SELECT stack_id, functions[1] AS leaf, list_distinct(functions) AS functions
FROM (
    SELECT
        stack_id,
        list_transform(frames, lambda f: {
            'name': coalesce(f.name, '[no symbol]'), 'module': coalesce(parse_filename(f.module), '')}) AS functions
    FROM stacktraces);
