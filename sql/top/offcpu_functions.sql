-- Off-CPU time by group and function, without the time in which threads waited for work. The scheduler's functions are not
-- shown. `waits` counts the intervals off the CPU, p50 to max are their lengths.
WITH waits AS (
    SELECT * REPLACE (
        CASE WHEN is_for_work THEN 0 ELSE count END AS count, CASE WHEN is_for_work THEN 0 ELSE max_ns END AS max_ns)
    FROM sorted_waits
)
SELECT
    blocked_ns AS "blocked s",
    runnable_ns AS "runnable s",
    100.0 * self_ns / nullif(sum(self_ns) OVER (), 0) AS "self %",
    total_ns AS "total s",
    count AS waits,
    coalesce(least(p50_ns, max_ns), 0) AS "p50 ms",
    coalesce(least(p99_ns, max_ns), 0) AS "p99 ms",
    max_ns AS "max ms",
    group_name,
    call_name AS call,
    module,
    function
FROM functions_of_waits('waits', false)
ORDER BY
    CASE WHEN getvariable('top_by_total') THEN total_ns END DESC, self_ns DESC, total_ns DESC, group_name, module, function;
