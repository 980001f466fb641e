-- How many spans ended in the time range.
SELECT count(*) AS spans
FROM page.samples
JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE metric = 7 AND moment >= $from::BIGINT AND moment < $to::BIGINT;
