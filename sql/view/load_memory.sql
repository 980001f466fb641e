-- 8 is what a process has grown by, 9 what it had at its first row.
INSERT INTO page.samples
SELECT
    CASE WHEN growth IS NULL THEN 9 ELSE 8 END, timestamp, coalesce(growth, amount), 1, who, ustack_id, kstack_id
FROM rss e
JOIN page.threads t ON t.key = page.thread_key(
    e.host, e.cgroup, e.command, e.thread, e.tgid, e.pid, page.span_of(e.span_id, e.trace_name))
ORDER BY timestamp;
