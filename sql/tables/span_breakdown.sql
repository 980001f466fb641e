-- Where does the time of each kind of span go: running, ready to run, blocked in what, or with nobody in it?
--     stacksexport query -f sql/tables/span_breakdown.sql [-c COMMAND] [-b PROGRAM]
-- A row per kind of span (its name) and what its time went to; share is the part of all time of that kind. running,
-- runnable and blocked: of threads that were in the span, or in one inside of it. waiting: open and no thread was in it
-- (a task between two polls); times of spans that wait at once add up. For blocked and waiting the ten longest stacks of
-- each. Spans that are never left count with what is blocked in them. Needs sources usdt and switch.
WITH entered AS (
    SELECT trace_name, span_id, duration, hash(host, pid) AS thread_key, timestamp - duration AS begins, timestamp AS ends
    FROM events
    WHERE kind = 'trace_exit' AND duration >= 0
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), boundaries AS (
    -- How many spans a thread is in from a moment on; what begins then is entered from the outside in.
    SELECT
        *,
        sum(step) OVER (PARTITION BY thread_key ORDER BY moment, step, ends DESC ROWS UNBOUNDED PRECEDING) AS depth
    FROM (
        SELECT thread_key, begins AS moment, 1 AS step, ends, trace_name FROM entered WHERE duration > 0
        UNION ALL
        SELECT thread_key, ends, -1, ends, trace_name FROM entered WHERE duration > 0)
), sleeps AS (
    SELECT
        trace_name, span_id, coalesce(ustack_id, kstack_id) AS stack_id, blocked_ns, runnable_ns,
        hash(host, pid) AS thread_key, timestamp AS moment
    FROM offcpu
    WHERE span_id != 0 AND state != 'gaps'
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), nested AS (
    SELECT s.*, unnest(range(1, b.depth::BIGINT + 1)) AS depth
    FROM sleeps s
    ASOF JOIN boundaries b ON s.thread_key = b.thread_key AND s.moment >= b.moment
), inside AS (
    -- A thread enters and leaves spans while it runs: an interval off the CPU lies in one as a whole, or not at all. Those
    -- of one depth follow each other, so it lies in the last one that began.
    SELECT e.trace_name, n.stack_id, n.blocked_ns, n.runnable_ns, true AS is_left
    FROM nested n
    ASOF JOIN (FROM boundaries WHERE step = 1) e
        ON n.thread_key = e.thread_key AND n.depth = e.depth AND n.moment >= e.moment
    WHERE n.moment < e.ends
    UNION ALL
    SELECT s.trace_name, s.stack_id, s.blocked_ns, s.runnable_ns, false
    FROM sleeps s
    LEFT JOIN (SELECT thread_key, span_id, max(ends) AS last_end FROM entered GROUP BY ALL) e USING (thread_key, span_id)
    WHERE e.last_end IS NULL OR s.moment >= e.last_end
), times AS (
    SELECT trace_name, 'running' AS what, NULL AS stack_id, count(*) AS count, sum(duration) AS ns
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
    SELECT trace_name, 'waiting', coalesce(ustack_id, kstack_id), count(*), sum(wait_ns)
    FROM span_waits
    WHERE wait_ns > 0
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
), sums AS (
    SELECT
        trace_name, what, stack_id, sum(count) AS count, greatest(sum(ns), 0) AS ns,
        greatest(sum(ns), 0) / nullif(sum(greatest(sum(ns), 0)) OVER (PARTITION BY trace_name), 0) AS share
    FROM times
    GROUP BY trace_name, what, stack_id
    QUALIFY row_number() OVER (PARTITION BY trace_name, what ORDER BY sum(ns) DESC, stack_id) <= 10
)
SELECT
    trace_name AS span, what,
    (ns / 1e9)::DECIMAL(18, 3) AS seconds,
    (100 * share)::DECIMAL(5, 1) AS "share %",
    count::BIGINT AS count, frames AS stack
FROM sums
LEFT JOIN stacktraces USING (stack_id)
ORDER BY sum(ns) OVER (PARTITION BY trace_name) DESC, span, ns DESC, what, stack_id;
