-- Where does the time of each kind of span go: running, ready to run, blocked in what, or without a thread?
--     stacksexport query -f sql/tables/span_breakdown.sql [-c COMMAND] [-b PROGRAM]
-- One row per kind of span (its name) and use of time. share: the part of all time of that kind. running, runnable and
-- blocked: time of threads in the span, or in a span inside it. waiting: the span was open and no thread was in it (a
-- task between two polls). Times of spans that wait at the same time add up. blocked and waiting have the ten longest
-- stacks each. Spans that are never left count with the time that threads are blocked in them. Needs the sources usdt
-- and switch.
WITH entered AS MATERIALIZED (
    SELECT
        trace_name, span_id, hash(host, pid) AS thread_key, timestamp - duration AS begins, timestamp AS ends,
        selected_ns(begins, ends) AS duration, in_selected_range(ends) AS is_in_range,
        coalesce(ustack_id, kstack_id) AS stack_id, wait_ns
    FROM span_waits
    WHERE ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), sleeps AS MATERIALIZED (
    SELECT
        trace_name, span_id, coalesce(ustack_id, kstack_id) AS stack_id, blocked_ns, runnable_ns,
        hash(host, pid) AS thread_key, timestamp AS moment
    FROM offcpu
    WHERE span_id != 0 AND state != 'gaps'
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), outer_spans AS MATERIALIZED (
    -- Spans with another one inside: the span that the thread left before had begun after this one.
    SELECT thread_key, span_id, trace_name, begins, ends
    FROM entered
    WHERE duration > 0
    QUALIFY begins <= lag(begins) OVER (PARTITION BY thread_key ORDER BY ends, begins DESC)
), boundaries AS MATERIALIZED (
    -- How many of these spans a thread is in, over time; those that begin at the same time are entered from the outside
    -- in. A sum of DOUBLE costs half as much as of other types.
    SELECT
        *,
        sum(step) OVER (PARTITION BY thread_key ORDER BY moment, step, ends DESC ROWS UNBOUNDED PRECEDING)::INTEGER AS depth
    FROM (
        SELECT *, begins AS moment, 1::DOUBLE AS step FROM outer_spans
        UNION ALL
        SELECT *, ends, -1 FROM outer_spans)
), nested AS (
    SELECT s.*, unnest(range(1, b.depth + 1))::INTEGER AS depth
    FROM sleeps s
    ASOF JOIN boundaries b ON s.thread_key = b.thread_key AND s.moment >= b.moment
), inside AS (
    -- A thread enters and leaves spans while it runs, so an interval off the CPU is either completely in a span or not
    -- at all. It is in the span of its row, and in those around that. Spans of one depth follow each other, so the
    -- interval is in the last one that began.
    SELECT s.trace_name, s.stack_id, s.blocked_ns, s.runnable_ns, s.moment < coalesce(e.last_end, 0) AS is_left
    FROM sleeps s
    LEFT JOIN (SELECT thread_key, span_id, max(ends) AS last_end FROM entered GROUP BY ALL) e USING (thread_key, span_id)
    UNION ALL
    SELECT o.trace_name, n.stack_id, n.blocked_ns, n.runnable_ns, true
    FROM nested n
    ASOF JOIN (FROM boundaries WHERE step = 1) o
        ON n.thread_key = o.thread_key AND n.depth = o.depth AND n.moment >= o.moment
    WHERE n.moment < o.ends AND n.span_id != o.span_id
), times AS (
    SELECT trace_name, 'running' AS what, NULL AS stack_id, count(*) FILTER (is_in_range) AS count, sum(duration) AS ns
    FROM entered
    GROUP BY trace_name
    UNION ALL
    SELECT trace_name, 'running', NULL, 0, -sum(blocked_ns + runnable_ns)
    FROM inside
    WHERE is_left
    GROUP BY trace_name
    UNION ALL
    SELECT trace_name, 'runnable', NULL, count(*), sum(runnable_ns)
    FROM inside
    WHERE runnable_ns > 0
    GROUP BY trace_name
    UNION ALL
    SELECT trace_name, 'blocked', stack_id, count(*), sum(blocked_ns)
    FROM inside
    WHERE blocked_ns > 0
    GROUP BY trace_name, stack_id
    UNION ALL
    SELECT trace_name, 'waiting', stack_id, count(*), sum(wait_ns)
    FROM entered
    WHERE wait_ns > 0
    GROUP BY trace_name, stack_id
), sums AS (
    SELECT
        trace_name, what, stack_id, sum(count) AS count, greatest(sum(ns), 0) AS ns,
        greatest(sum(ns), 0) / nullif(sum(greatest(sum(ns), 0)) OVER (PARTITION BY trace_name), 0) AS share
    FROM times
    GROUP BY trace_name, what, stack_id
    QUALIFY row_number() OVER (PARTITION BY trace_name, what ORDER BY sum(ns) DESC, stack_id) <= 10
)
SELECT
    span_name(trace_name) AS span, what,
    (ns / 1e9)::DECIMAL(18, 3) AS seconds,
    (100 * share)::DECIMAL(5, 1) AS "share %",
    count::BIGINT AS count, frames AS stack
FROM sums
LEFT JOIN stacktraces USING (stack_id)
ORDER BY sum(ns) OVER (PARTITION BY trace_name) DESC, span, ns DESC, what, stack_id;
