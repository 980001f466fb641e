-- The sums of one metric, by root and stack.
SELECT label, ustack_id, kstack_id, sum(value) AS value, 0 AS blocked, 0 AS runnable, sum(weight) AS events
FROM page.samples
JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE metric = $code::UTINYINT AND moment >= $from::BIGINT AND moment < $to::BIGINT
    AND ($only_spans IS NULL OR in_span)
GROUP BY label, ustack_id, kstack_id;
