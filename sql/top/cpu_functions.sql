-- CPU time by group and function. self: the function was running; total: it or what it called, a recursive function once.
-- Samples without a stack are [no stack]. `for` is the function of the program for which the kernel, libc, a runtime or a
-- function without a name ran, the one with the most time.
WITH halves AS (
    SELECT
        group_name, ustack_id AS for_id, ustack_id AS stack_id, sum(cpu_ns) AS ns,
        sum(cpu_ns) FILTER (kstack_id IS NULL) AS self_ns
    FROM cpu_samples
    GROUP BY ALL
    UNION ALL
    SELECT group_name, ustack_id, kstack_id, sum(cpu_ns), sum(cpu_ns)
    FROM cpu_samples
    WHERE kstack_id IS NOT NULL
    GROUP BY ALL
), shares AS (
    SELECT group_name, leaf AS id, nullif(w.waits_in, leaf) AS caller, sum(self_ns) AS self_ns, 0 AS total_ns
    FROM halves
    LEFT JOIN stack_functions USING (stack_id)
    LEFT JOIN waiting_functions w ON w.stack_id = for_id
    WHERE self_ns > 0
    GROUP BY ALL
    UNION ALL
    SELECT group_name, unnest(functions), NULL, 0, ns
    FROM (SELECT group_name, stack_id, sum(ns) AS ns FROM halves GROUP BY ALL)
    JOIN stack_functions USING (stack_id)
), sums AS (
    SELECT
        group_name, id, arg_max(caller, self_ns) AS caller, sum(self_ns) AS self_ns,
        greatest(sum(total_ns), sum(self_ns)) AS total_ns
    FROM shares
    GROUP BY group_name, id
)
SELECT
    self_ns AS "self s",
    100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS "self %",
    total_ns AS "total s",
    100.0 * total_ns / nullif(sum(self_ns) OVER (), 0) AS "total %",
    group_name,
    CASE WHEN f.works_for_caller OR starts_with(f.module, '[') THEN coalesce(c.name, '') ELSE '' END AS "for",
    coalesce(f.module, '') AS module,
    coalesce(f.name, '[no stack]') AS function
FROM sums
LEFT JOIN functions f USING (id)
LEFT JOIN functions c ON c.id = caller
ORDER BY
    CASE WHEN getvariable('top_by_total') THEN total_ns END DESC, self_ns DESC, total_ns DESC, group_name, module, f.name;
