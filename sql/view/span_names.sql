-- How long the spans took that ended in the time range, by name; the histogram has 40 bars of one factor each.
WITH ended AS (
    SELECT span AS name, value AS ns
    FROM page.samples
    JOIN page.threads USING (who)
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric = 7 AND moment >= $from::BIGINT AND moment < $to::BIGINT AND ($name IS NULL OR span = $name::VARCHAR)
), limits AS (
    SELECT name, log2(greatest(min(ns), 1)) AS low, greatest(log2(greatest(max(ns), 1)) - low, 0.01) / 40 AS width
    FROM ended
    GROUP BY name
), bars AS (
    SELECT name, least((log2(greatest(ns, 1)) - low) // width, 39)::INTEGER AS bar, count(*) AS count
    FROM ended
    JOIN limits USING (name)
    GROUP BY name, bar
), histograms AS (
    SELECT
        name,
        {
            'edges': list_transform(range(41), lambda i: pow(2, any_value(low) + i * any_value(width))),
            'counts': list_transform(range(40), lambda i: coalesce(map_from_entries(list({'k': bar, 'v': count}))[i], 0))
        } AS histogram
    FROM bars
    JOIN limits USING (name)
    GROUP BY name
), names AS (
    SELECT name, count(*) AS count, quantile_disc(ns, [0.5, 0.95, 0.99]) AS q, max(ns) AS max
    FROM ended
    GROUP BY name
)
SELECT name, count, q[1] AS p50, q[2] AS p95, q[3] AS p99, max, histogram
FROM names
JOIN histograms USING (name)
ORDER BY count DESC, name
LIMIT 1000;
