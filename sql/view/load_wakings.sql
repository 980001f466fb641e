-- Which thread woke which: the intervals of the view wakeups that ended with a wake-up.
CREATE OR REPLACE TABLE page.wakings AS
SELECT
    selected_begin(w.timestamp) AS begins, begins + blocked_ns AS ends, who,
    CASE waker_command WHEN '' THEN 'an interrupt' ELSE waker_command END AS waker,
    w.ustack_id, w.kstack_id, waker_ustack_id, waker_kstack_id
FROM wakeups w
JOIN page.threads t ON t.key = page.thread_key(
    w.host, w.cgroup, w.command, w.thread, w.tgid, w.pid, page.span_of(w.span_id, w.trace_name))
WHERE woken AND blocked_ns > 0;
