-- `stacksexport trace`: events that cannot be drawn, by query.
SELECT query, problem, count(*) AS count
FROM trace_events
WHERE problem IS NOT NULL
GROUP BY query, problem
ORDER BY query, count DESC, problem;
