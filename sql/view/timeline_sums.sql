-- What happened in each bucket of the time range. Memory counts from the first row on: what was before is in bucket 0.
SELECT metric, greatest(moment - $from::BIGINT, 0) // $width::BIGINT AS bucket, sum(value)::DOUBLE AS value
FROM page.samples
JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE metric IN (4, 5, 6, 8, 9, 10) AND moment < $to::BIGINT AND (moment >= $from::BIGINT OR metric IN (8, 9))
GROUP BY metric, bucket;
