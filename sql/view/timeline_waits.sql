-- Where intervals off the CPU begin (number > 0) and end (number < 0): in which bucket, how many, and how far behind the
-- bucket's begin in all. From that the time in each bucket follows, however many buckets an interval covers.
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
