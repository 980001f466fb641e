-- How long spans took, by name.
SELECT
    span_name(trace_name) AS name, count(*) AS count, quantile_disc(duration, 0.5) AS p50,
    quantile_disc(duration, 0.95) AS p95, quantile_disc(duration, 0.99) AS p99, max(duration) AS max
FROM events
WHERE kind = 'trace_close'
GROUP BY name
ORDER BY count DESC, name
LIMIT 1000;
