-- Where do spans wait until a thread works on them again?
SELECT
    [stack_part(coalesce(ustack_id, kstack_id)), label_part(span_name(trace_name))] AS stack,
    count(*) AS count, sum(wait_ns) AS wait_time
FROM span_waits
WHERE wait_ns > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY trace_name, coalesce(ustack_id, kstack_id);
