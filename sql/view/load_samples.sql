-- Adds the events of the recording that are not slices to page.samples: metric, value, thread and stacks.
INSERT INTO page.samples
SELECT
    page.metric_of(kind), timestamp, page.value_of(kind, duration, amount, weight), coalesce(weight, 1), who, ustack_id,
    kstack_id
FROM page.events e
JOIN page.threads t ON t.key = page.thread_key(
    e.host, e.cgroup, e.command, e.thread, e.tgid, e.pid, page.span_of(e.span_id, e.trace_name))
WHERE e.kind != 'switch' AND page.metric_of(kind) IS NOT NULL;
