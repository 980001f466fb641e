-- The stacks in which threads waited longest, by how they left the CPU.
WITH parts AS (
    SELECT
        state, coalesce(ustack_id, kstack_id) AS stack,
        least(ends, $to::BIGINT) - greatest(begins, $from::BIGINT) AS ns
    FROM page.waits
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE begins < $to::BIGINT AND ends > $from::BIGINT AND ends > begins
), largest AS (
    SELECT state, stack, count(*) AS count, sum(ns) AS sum, max(ns) AS max
    FROM parts
    GROUP BY state, stack
    ORDER BY sum DESC, state, stack
    LIMIT $limit::BIGINT
), quantiles AS (
    SELECT state, stack, quantile_disc(ns, [0.5, 0.99]) AS q
    FROM parts
    SEMI JOIN largest l ON l.state = parts.state AND l.stack IS NOT DISTINCT FROM parts.stack
    GROUP BY state, stack
)
SELECT page.state_name(l.state)::VARCHAR AS state, count, sum, q[1] AS p50, q[2] AS p99, max, l.stack AS stack
FROM largest l
JOIN quantiles q ON q.state = l.state AND q.stack IS NOT DISTINCT FROM l.stack
ORDER BY sum DESC, l.state, stack;
