-- Off-CPU time by command and function. self: the function waited; total: it or what it called, a recursive function
-- once. Intervals without a stack are [no stack]. The scheduler's functions are not shown.
WITH waits AS (
    SELECT command, stack_id, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns
    FROM offcpu_waits
    WHERE state != 'idle'
    GROUP BY ALL
), shares AS (
    SELECT command, waits_in AS function, blocked_ns, runnable_ns, 0 AS total_ns
    FROM waits
    LEFT JOIN stack_functions USING (stack_id)
    UNION ALL
    SELECT command, unnest(waiting), 0, 0, blocked_ns + runnable_ns
    FROM waits
    JOIN stack_functions USING (stack_id)
)
SELECT
    sum(blocked_ns) AS "blocked s",
    sum(runnable_ns) AS "runnable s",
    100.0 * ("blocked s" + "runnable s") / nullif(sum(sum(blocked_ns) + sum(runnable_ns)) OVER (), 0) AS "self %",
    greatest(sum(total_ns), "blocked s" + "runnable s") AS "total s",
    100.0 * "total s" / nullif(sum(sum(blocked_ns) + sum(runnable_ns)) OVER (), 0) AS "total %",
    command,
    coalesce(function.module, '') AS module,
    coalesce(function.name, '[no stack]') AS function
FROM shares
GROUP BY command, function
ORDER BY "blocked s" + "runnable s" DESC, "total s" DESC, command, module, function.name;
