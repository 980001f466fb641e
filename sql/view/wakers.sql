-- Which threads sleep longest, and which threads wake them.
SELECT
    command AS sleeper, waker, page.stack_text(ustack_id, kstack_id) AS sleep_stack,
    page.stack_text(waker_ustack_id, waker_kstack_id) AS waker_stack, count, sum
FROM (
    SELECT
        command, waker, ustack_id, kstack_id, waker_ustack_id, waker_kstack_id, count(*) AS count,
        sum(least(ends, $to::BIGINT) - greatest(begins, $from::BIGINT)) AS sum
    FROM page.wakings
    JOIN page.threads USING (who)
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE begins < $to::BIGINT AND ends > $from::BIGINT
    GROUP BY ALL
    ORDER BY sum DESC, ustack_id, kstack_id, waker_ustack_id, waker_kstack_id, command, waker
    LIMIT $limit::BIGINT)
ORDER BY sum DESC, sleeper, waker, sleep_stack, waker_stack;
