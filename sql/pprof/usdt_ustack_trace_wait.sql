-- Where do spans wait between two times that a thread works on them?
--     stacksexport pprof sql/pprof/usdt_ustack_trace_wait.sql [-c COMMAND] [-b PROGRAM]
-- count: waits. wait_time: from leaving the span (the stack is where, the root is the span's name) to entering it again
-- or closing it; one that never happens runs to the end of the recording, and so does that of a span which a thread is
-- in then. Spans wait at the same time: times add up.
SELECT
    [stack_part(coalesce(ustack_id, kstack_id)), label_part(span_name(trace_name))] AS stack,
    count(*) AS count, sum(wait_ns) AS wait_time
FROM span_waits
WHERE wait_ns > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY trace_name, coalesce(ustack_id, kstack_id);
