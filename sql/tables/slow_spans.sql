-- Which spans took longest, and what happened in them?
--     stacksexport query -f sql/tables/slow_spans.sql [-c COMMAND] [-b PROGRAM]
-- The ten longest spans of the selection, and in each, in the order in which it began: what its threads did while they were
-- in it or in a span inside of it. span_s: from the first time it was entered until it was closed, or to the end of the
-- recording when it is open (of an open one: from its first row in the selection). at_s: since its beginning, the first
-- time. For off-CPU time `detail` is the state; for files, disks and connections which; for inner spans their names.
-- `enter` is being in the span itself, `wait` when no thread was.
CREATE OR REPLACE TEMP TABLE slow AS
WITH ends AS (
    SELECT host, max(timestamp) AS end_ns
    FROM all_events
    GROUP BY host
), closes AS MATERIALIZED (
    SELECT host, tgid, span_id, trace_name, timestamp - duration AS begins, timestamp AS ends
    FROM events
    WHERE kind = 'trace_close'
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), opens AS (
    -- Any event of a thread in a span shows that the span is open, even one that it never leaves.
    SELECT
        e.host, e.tgid, e.span_id, any_value(e.trace_name),
        min(e.timestamp - CASE e.kind WHEN 'trace_exit' THEN e.duration ELSE 0 END)
    FROM events e
    LEFT JOIN (
        SELECT host, tgid, span_id, max(timestamp) AS last_close
        FROM all_events
        WHERE kind = 'trace_close'
        GROUP BY ALL
    ) c
        ON c.host IS NOT DISTINCT FROM e.host AND c.tgid = e.tgid AND c.span_id = e.span_id
    WHERE e.span_id != 0 AND e.kind != 'trace_close' AND (c.last_close IS NULL OR e.timestamp > c.last_close)
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
), spans AS (
    SELECT *, 'closed' AS ended
    FROM closes
    UNION ALL
    SELECT opens.*, end_ns, 'open'
    FROM opens
    JOIN ends ON ends.host IS NOT DISTINCT FROM opens.host
)
SELECT *, row_number() OVER (ORDER BY ends - begins DESC, begins, tgid, span_id) AS rank, hash(host, tgid) AS process_key
FROM (FROM spans ORDER BY ends - begins DESC, begins, tgid, span_id LIMIT 10);

-- The selected spans, and the threads that were in them: only their events need to be sorted. Variables, because DuckDB
-- pushes a filter by a constant into a view, but not one by a subquery.
SET VARIABLE slow_tgids = (SELECT list(tgid) FROM slow);
SET VARIABLE slow_ids = (SELECT list(span_id) FROM slow);
SET VARIABLE slow_threads = (
    SELECT list(DISTINCT pid)
    FROM all_events
    WHERE list_contains(getvariable('slow_ids'), span_id) AND list_contains(getvariable('slow_tgids'), tgid));

WITH nearby AS MATERIALIZED (
    -- All columns that are needed of the events, read once (offcpu_of() returns more).
    SELECT
        timestamp, duration, kind, host, tgid, pid, span_id, trace_name, ustack_id, kstack_id, state, runnable, gaps, amount,
        weight, file, peer, device,
        NULL AS cpu, NULL AS command, NULL AS thread, NULL AS buildid, NULL AS cgroup, NULL AS parent_id, NULL AS id,
        NULL AS unwind
    FROM all_events
    WHERE list_contains(getvariable('slow_tgids'), tgid)
        AND (kind = 'rss' OR list_contains(getvariable('slow_threads'), pid))
), happened AS (
    SELECT
        hash(host, tgid) AS process_key, pid, span_id, timestamp, timestamp - duration AS begins, duration AS ns,
        CASE kind WHEN 'trace_exit' THEN 'span' ELSE kind END AS what,
        coalesce(file, peer, device, CASE kind WHEN 'trace_exit' THEN span_name(trace_name) END, '') AS detail,
        CASE WHEN kind != 'rss' THEN amount END AS amount, coalesce(weight, 1) AS weight,
        coalesce(ustack_id, kstack_id) AS stack_id
    FROM nearby
    WHERE kind NOT IN ('switch', 'trace_close', 'lost', 'rate', 'rss')
    UNION ALL
    SELECT
        hash(host, tgid), pid, span_id, timestamp, timestamp, NULL, 'rss growth', '', growth, 1,
        coalesce(ustack_id, kstack_id)
    FROM rss_of('nearby')
    WHERE growth > 0
    UNION ALL
    SELECT
        hash(host, tgid), pid, span_id, timestamp, timestamp, unnest([blocked_ns, runnable_ns]),
        unnest(['blocked', 'runnable']), state, NULL, 1, coalesce(ustack_id, kstack_id)
    FROM offcpu_of('nearby')
    WHERE state != 'gaps'
), entered AS (
    SELECT s.rank, e.pid, e.timestamp - e.duration AS begins, e.timestamp AS ends
    FROM nearby e
    JOIN slow s ON s.process_key = hash(e.host, e.tgid) AND s.span_id = e.span_id
        AND e.timestamp >= s.begins AND e.timestamp <= s.ends
    WHERE e.kind = 'trace_exit'
), candidates AS (
    SELECT s.rank, s.span_id = h.span_id AS is_own, s.begins AS span_begins, h.* EXCLUDE (span_id)
    FROM happened h
    JOIN slow s ON s.process_key = h.process_key AND h.timestamp >= s.begins AND h.timestamp <= s.ends
    WHERE is_own OR EXISTS (FROM entered e WHERE e.rank = s.rank AND e.pid = h.pid)
), inside AS (
    SELECT
        c.rank, CASE WHEN is_own AND what = 'span' THEN 'enter' ELSE what END AS what,
        CASE WHEN is_own AND what = 'span' THEN '' ELSE detail END AS detail, stack_id,
        sum(weight) AS count, sum(ns * weight) AS ns, sum(amount::HUGEINT * weight) AS amount,
        min(greatest(c.begins - span_begins, 0)) AS at
    FROM candidates c
    ASOF LEFT JOIN entered e ON e.rank = c.rank AND e.pid = c.pid AND c.timestamp > e.begins
    WHERE (is_own OR c.timestamp <= e.ends) AND (ns > 0 OR what NOT IN ('blocked', 'runnable'))
    GROUP BY ALL
    UNION ALL
    SELECT
        s.rank, 'wait', w.ended, coalesce(w.ustack_id, w.kstack_id), count(*), sum(w.wait_ns), NULL,
        min(w.timestamp - s.begins)
    FROM span_waits_of('nearby') w
    JOIN slow s ON s.process_key = hash(w.host, w.tgid) AND s.span_id = w.span_id
        AND w.timestamp >= s.begins AND w.timestamp <= s.ends
    WHERE w.wait_ns > 0
    GROUP BY ALL
)
SELECT
    s.rank, span_name(s.trace_name) AS span, s.span_id, s.tgid,
    ((s.ends - s.begins) / 1e9)::DECIMAL(18, 6) AS span_s, s.ended,
    (i.at / 1e9)::DECIMAL(18, 6) AS at_s, i.what, i.detail, i.count::BIGINT AS count,
    (i.ns / 1e9)::DECIMAL(18, 6) AS seconds,
    (CASE WHEN i.amount > 9223372036854775807 THEN 9223372036854775807 ELSE i.amount END)::BIGINT AS amount,
    t.frames AS stack
FROM slow s
LEFT JOIN inside i USING (rank)
LEFT JOIN stacktraces t ON t.stack_id = i.stack_id
ORDER BY s.rank, i.at, i.what, i.detail, i.stack_id;
