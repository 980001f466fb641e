-- CPU samples by column of time, and row within a column.
SELECT
    (moment - $from::BIGINT) // $width::BIGINT AS "column",
    ((moment - $from::BIGINT) % $width::BIGINT) * $rows::BIGINT // $width::BIGINT AS row,
    sum(weight)::BIGINT AS samples
FROM page.samples
JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE metric = 1 AND moment >= $from::BIGINT AND moment < $to::BIGINT
GROUP BY ALL;
