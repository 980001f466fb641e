-- The same of operations: where requests to disks, calls on files and spans begin and end.
WITH parts AS (
    SELECT
        CASE metric WHEN 2 THEN 'disk' WHEN 3 THEN 'files' ELSE 'spans' END AS lane,
        greatest(moment - value, $from::BIGINT) AS since, least(moment, $to::BIGINT) AS until
    FROM page.samples
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric IN (2, 3, 7) AND since < until
)
SELECT
    lane, (since - $from::BIGINT) // $width::BIGINT AS bucket, count(*) AS number,
    sum((since - $from::BIGINT) % $width::BIGINT)::DOUBLE AS behind
FROM parts
GROUP BY lane, bucket
UNION ALL
SELECT
    lane, (until - $from::BIGINT) // $width::BIGINT AS bucket, -count(*) AS number,
    -sum((until - $from::BIGINT) % $width::BIGINT)::DOUBLE AS behind
FROM parts
GROUP BY lane, bucket;
