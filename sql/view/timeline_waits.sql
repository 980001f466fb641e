-- Intervals off the CPU, in the form of timeline_open.sql.
WITH parts AS (
    SELECT 'blocked' AS lane, greatest(begins, $from::BIGINT) AS since, least(woken, $to::BIGINT) AS until
    FROM page.waits
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE since < until
    UNION ALL
    SELECT 'runnable', greatest(woken, $from::BIGINT) AS since, least(ends, $to::BIGINT) AS until
    FROM page.waits
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE since < until
)
SELECT
    lane, 0 AS label, (since - $from::BIGINT) // $width::BIGINT AS bucket, count(*) AS number,
    sum((since - $from::BIGINT) % $width::BIGINT)::DOUBLE AS behind
FROM parts
GROUP BY lane, bucket
UNION ALL
SELECT
    lane, 0 AS label, (until - $from::BIGINT) // $width::BIGINT AS bucket, -count(*) AS number,
    -sum((until - $from::BIGINT) % $width::BIGINT)::DOUBLE AS behind
FROM parts
GROUP BY lane, bucket;
