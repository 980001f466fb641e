-- Which threads sleep longest until which others wake them.
SELECT
    command AS sleeper, waker, sleep_stack, waker_stack, count(*) AS count,
    sum(least(ends, $to::BIGINT) - greatest(begins, $from::BIGINT)) AS sum
FROM page.wakings
JOIN page.threads USING (who)
JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE begins < $to::BIGINT AND ends > $from::BIGINT
GROUP BY ALL
ORDER BY sum DESC, sleeper, waker, sleep_stack, waker_stack
LIMIT $limit::BIGINT;
