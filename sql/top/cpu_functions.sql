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
), shares AS (
    SELECT command, leaf AS id, self_ns, 0 AS total_ns
    FROM halves
    LEFT JOIN stack_functions USING (stack_id)
    WHERE self_ns > 0
    UNION ALL
    SELECT command, unnest(functions), 0, ns
    FROM halves
    JOIN stack_functions USING (stack_id)
), sums AS (
    SELECT command, id, sum(self_ns) AS self_ns, greatest(sum(total_ns), sum(self_ns)) AS total_ns
    FROM shares
    GROUP BY command, id
)
SELECT
    self_ns AS "self s",
    100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS "self %",
    total_ns AS "total s",
    100.0 * total_ns / nullif(sum(self_ns) OVER (), 0) AS "total %",
    command,
    coalesce(f.module, '') AS module,
    coalesce(f.name, '[no stack]') AS function
FROM sums
LEFT JOIN functions f USING (id)
ORDER BY CASE WHEN getvariable('top_by_total') THEN total_ns END DESC, self_ns DESC, total_ns DESC, command, module, f.name;
