-- Numbers the threads (with span and cgroup) of the recording, in page.threads. A thread may wait in the whole range that is
-- selected, and have no event in it.
INSERT INTO page.threads
SELECT (SELECT count(*) FROM page.threads) + row_number() OVER (), *
FROM (
    SELECT DISTINCT
        page.thread_key(host, cgroup, command, thread, tgid, pid, span) AS key,
        host, cgroup, command, thread, tgid, pid, span
    FROM page.totals
    UNION
    SELECT DISTINCT
        page.thread_key(host, cgroup, command, thread, tgid, pid, page.span_of(span_id, trace_name)),
        host, cgroup, command, thread, tgid, pid, page.span_of(span_id, trace_name)
    FROM selected('all_events')
    WHERE has_selected_range() AND kind = 'switch')
WHERE key NOT IN (SELECT key FROM page.threads);
