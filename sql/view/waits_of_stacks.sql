-- The time off the CPU, by root, stack and whether the thread slept. Of an interval only the part in the time range counts.
SELECT
    label, ustack_id, kstack_id, 0 AS value,
    sum(greatest(least(woken, $to::BIGINT) - greatest(begins, $from::BIGINT), 0)) AS blocked,
    sum(greatest(least(ends, $to::BIGINT) - greatest(woken, $from::BIGINT), 0)) AS runnable,
    count(*) AS events, NULL AS root, (state = page.state_code('sleeping'))::UTINYINT AS slept
FROM page.waits
JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE begins < $to::BIGINT AND ends >= $from::BIGINT
    AND ($only_spans IS NULL OR in_span)
GROUP BY label, ustack_id, kstack_id, slept;
