-- Off-CPU time by command and function. self: the function waited; total: it or what it called, a recursive function
-- once. Intervals without a stack are [no stack]. The scheduler's functions are not shown.
WITH waits AS (
    SELECT command, stack_id, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns
    FROM offcpu_waits
    WHERE state != 'idle'
    GROUP BY ALL
), shares AS (
    SELECT command, waits_in AS id, blocked_ns, runnable_ns, 0 AS total_ns
    FROM waits
    LEFT JOIN stack_functions USING (stack_id)
    UNION ALL
    SELECT command, unnest(waiting), 0, 0, blocked_ns + runnable_ns
    FROM waits
    JOIN stack_functions USING (stack_id)
), sums AS (
    SELECT
        command, id, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns,
        sum(blocked_ns) + sum(runnable_ns) AS self_ns, greatest(sum(total_ns), self_ns) AS total_ns
    FROM shares
    GROUP BY command, id
)
SELECT
    blocked_ns AS "blocked s",
    runnable_ns AS "runnable s",
    100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS "self %",
    total_ns AS "total s",
    100.0 * total_ns / nullif(sum(self_ns) OVER (), 0) AS "total %",
    command,
    coalesce(f.module, '') AS module,
    coalesce(f.name, '[no stack]') AS function
FROM sums
LEFT JOIN functions f USING (id)
ORDER BY CASE WHEN getvariable('top_by_total') THEN total_ns END DESC, self_ns DESC, total_ns DESC, command, module, f.name;
