-- Where what takes time begins (number > 0) and ends (number < 0): in which bucket, how many, and how far behind the
-- bucket's begin in all. From that the time in each bucket follows, however many buckets it covers. A CPU sample stands for
-- the time before it.
WITH parts AS (
    SELECT
        metric, label, weight, greatest(moment - value // weight, $from::BIGINT) AS since,
        least(moment, $to::BIGINT) AS until
    FROM page.samples
    JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric IN (1, 2, 3, 7) AND ($metric IS NULL OR metric = $metric::UTINYINT) AND since < until
)
SELECT
    CASE metric WHEN 1 THEN 'cpu' WHEN 2 THEN 'disk' WHEN 3 THEN 'files' ELSE 'spans' END AS lane, label,
    (since - $from::BIGINT) // $width::BIGINT AS bucket, sum(weight) AS number,
    sum(weight * ((since - $from::BIGINT) % $width::BIGINT))::DOUBLE AS behind
FROM parts
GROUP BY metric, label, bucket
UNION ALL
SELECT
    CASE metric WHEN 1 THEN 'cpu' WHEN 2 THEN 'disk' WHEN 3 THEN 'files' ELSE 'spans' END AS lane, label,
    (until - $from::BIGINT) // $width::BIGINT AS bucket, -sum(weight) AS number,
    -sum(weight * ((until - $from::BIGINT) % $width::BIGINT))::DOUBLE AS behind
FROM parts
GROUP BY metric, label, bucket;
