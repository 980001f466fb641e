-- A process that ends has lived longer than the recording (exit).
INSERT INTO page.totals
SELECT
    host, cgroup, command, thread, tgid, pid, page.span_of(span_id, trace_name) AS span, kind,
    CASE WHEN kind = 'lost' THEN lost_kind END AS lost_kind, CASE WHEN kind = 'lost' THEN reason END AS reason,
    count(*), sum(coalesce(weight, 1)), sum(page.weighted(duration, weight)), sum(amount),
    min(CASE WHEN kind = 'exit' THEN timestamp ELSE timestamp - duration END), max(timestamp)
FROM page.events
GROUP BY ALL;
