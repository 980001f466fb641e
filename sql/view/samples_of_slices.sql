-- The sums of one metric, by slice of time, root and stack. label: the slice, from 1 on.
SELECT
    slice AS label, ustack_id, kstack_id, sum(value) AS value, 0 AS blocked, 0 AS runnable, sum(weight) AS events, root
FROM (
    SELECT
        ((moment - $from::BIGINT) // $width::BIGINT + 1)::UINTEGER AS slice, ustack_id, kstack_id, value, weight,
        label AS root
    FROM page.samples
    JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric = $code::UTINYINT AND moment >= $from::BIGINT AND moment < $to::BIGINT
        AND ($only_spans IS NULL OR in_span)
)
GROUP BY ALL;
