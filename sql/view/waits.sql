-- The stacks in which threads of a command waited longest, by how they left the CPU. label: the thread that stands for its
-- command.
WITH parts AS (
    SELECT
        label, state, ustack_id, kstack_id, least(ends, $to::BIGINT) - greatest(begins, $from::BIGINT) AS ns
    FROM page.waits
    JOIN page.chosen('command', $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE begins < $to::BIGINT AND ends > $from::BIGINT AND ends > begins
), largest AS (
    SELECT label, state, ustack_id, kstack_id, count(*) AS count, sum(ns) AS sum, max(ns) AS max
    FROM parts
    GROUP BY ALL
    ORDER BY sum DESC, state, ustack_id, kstack_id, label
    LIMIT $limit::BIGINT
), quantiles AS (
    SELECT label, state, ustack_id, kstack_id, quantile_disc(ns, [0.5, 0.99]) AS q
    FROM parts p
    SEMI JOIN largest l ON l.label = p.label AND l.state = p.state AND l.ustack_id IS NOT DISTINCT FROM p.ustack_id
        AND l.kstack_id IS NOT DISTINCT FROM p.kstack_id
    GROUP BY ALL
)
SELECT
    t.command, page.state_name(l.state)::VARCHAR AS state, count, sum, q[1] AS p50, q[2] AS p99, max,
    page.stack_text(l.ustack_id, l.kstack_id) AS stack
FROM largest l
JOIN page.threads t ON t.who = l.label
JOIN quantiles q ON q.label = l.label AND q.state = l.state AND q.ustack_id IS NOT DISTINCT FROM l.ustack_id
    AND q.kstack_id IS NOT DISTINCT FROM l.kstack_id
ORDER BY sum DESC, command, state, stack;
