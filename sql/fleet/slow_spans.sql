-- Which spans took longest, and where?
-- A row per span that was closed: from its first entry to its end. begins_ns: when it was entered, since 1970.
SELECT
    trace_name, duration AS span_ns, host, command, tgid, span_id, timestamp - duration AS begins_ns
FROM events
WHERE kind = 'trace_close'
ORDER BY span_ns DESC, begins_ns, host, span_id
LIMIT 100
