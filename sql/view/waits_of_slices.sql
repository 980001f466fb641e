-- The time off the CPU, by slice of time, root, stack and whether the thread slept. label: the slice, from 1 on.
WITH parts AS (
    SELECT
        begins, woken, ends, ustack_id, kstack_id, label AS root, (state = page.state_code('sleeping'))::UTINYINT AS slept,
        unnest(range(
            (greatest(begins, $from::BIGINT) - $from::BIGINT) // $width::BIGINT,
            (least(ends, $to::BIGINT) - 1 - $from::BIGINT) // $width::BIGINT + 1)) AS slice
    FROM page.waits
    JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE begins < $to::BIGINT AND ends > $from::BIGINT AND ends > begins AND ($only_spans IS NULL OR in_span)
), limits AS (
    SELECT
        *, greatest($from::BIGINT + slice * $width::BIGINT, $from::BIGINT) AS since,
        least($from::BIGINT + (slice + 1) * $width::BIGINT, $to::BIGINT) AS until
    FROM parts
)
SELECT
    (slice + 1)::UINTEGER AS label, ustack_id, kstack_id, 0 AS value,
    sum(greatest(least(woken, until) - greatest(begins, since), 0)) AS blocked,
    sum(greatest(least(ends, until) - greatest(woken, since), 0)) AS runnable,
    count(*) AS events, root, slept
FROM limits
GROUP BY ALL;
