-- CPU time by command and function. self: the function was running; total: it or what it called, a recursive function
-- once. Samples without a stack are [no stack].
WITH halves AS (
    SELECT command, ustack_id AS stack_id, sum(cpu_ns) AS ns, sum(cpu_ns) FILTER (kstack_id IS NULL) AS self_ns
    FROM cpu_samples
    GROUP BY ALL
    UNION ALL
    SELECT command, kstack_id, sum(cpu_ns), sum(cpu_ns)
    FROM cpu_samples
    WHERE kstack_id IS NOT NULL
    GROUP BY ALL
), functions AS (
    SELECT
        stack_id,
        list_transform(frames, lambda f: {
            'name': coalesce(f.name, '[no symbol]'), 'module': coalesce(parse_filename(f.module), '')}) AS functions
    FROM stacktraces
    WHERE stack_id IN (SELECT stack_id FROM halves)
), shares AS (
    SELECT command, functions[1] AS function, self_ns, 0 AS total_ns
    FROM halves
    LEFT JOIN functions USING (stack_id)
    WHERE self_ns > 0
    UNION ALL
    SELECT command, unnest(list_distinct(functions)), 0, ns
    FROM halves
    JOIN functions USING (stack_id)
)
SELECT
    sum(self_ns)::BIGINT AS "self s",
    100.0 * sum(self_ns) / nullif(sum(sum(self_ns)) OVER (), 0) AS "self %",
    greatest(sum(total_ns), sum(self_ns))::BIGINT AS "total s",
    100.0 * "total s" / nullif(sum(sum(self_ns)) OVER (), 0) AS "total %",
    command,
    coalesce(function.module, '') AS module,
    coalesce(function.name, '[no stack]') AS function
FROM shares
GROUP BY command, function
ORDER BY "self s" DESC, "total s" DESC, command, module, function.name;
