-- Where threads waited for work, as offcpu_functions.sql shows other waits.
WITH waits AS (
    SELECT group_name, stack_id, count, max_ns, idle_ns AS blocked_ns, 0 AS runnable_ns
    FROM sorted_waits
    WHERE is_for_work
)
SELECT
    blocked_ns AS "idle s",
    count AS waits,
    coalesce(least(p50_ns, max_ns), 0) AS "p50 ms",
    coalesce(least(p99_ns, max_ns), 0) AS "p99 ms",
    max_ns AS "max ms",
    group_name,
    call_name AS call,
    module,
    function
FROM functions_of_waits('waits', true)
WHERE blocked_ns > 0
ORDER BY blocked_ns DESC, group_name, module, function;
