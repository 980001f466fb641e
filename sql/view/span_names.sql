-- How long the spans took that ended in the time range, by name; the histogram has two bars per factor of two.
WITH ended AS (
    SELECT span AS name, value AS ns, CASE WHEN value > 0 THEN floor(2 * log2(value)) ELSE 0 END::INTEGER AS bar
    FROM page.samples
    JOIN page.threads USING (who)
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric = 7 AND moment >= $from::BIGINT AND moment < $to::BIGINT AND ($name IS NULL OR span = $name::VARCHAR)
), bars AS (
    SELECT name, bar, count(*) AS count
    FROM ended
    GROUP BY name, bar
), limits AS (
    SELECT name, min(bar) AS first, max(bar) AS last
    FROM bars
    GROUP BY name
), filled AS (
    SELECT name, unnest(range(first, last + 1)) AS bar
    FROM limits
), histograms AS (
    SELECT
        name,
        {
            'edges': list_append(list(pow(2, f.bar / 2.0) ORDER BY f.bar), pow(2, (max(f.bar) + 1) / 2.0)),
            'counts': list(coalesce(b.count, 0) ORDER BY f.bar)
        } AS histogram
    FROM filled f
    LEFT JOIN bars b USING (name, bar)
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
