-- Where do spans wait until a thread works on them again?
--     stacksexport pprof sql/pprof/usdt_ustack_trace_wait.sql [-c COMMAND] [-b PROGRAM]
-- count: waits. wait_time: from the exit of the span until it is entered again or closed. The stack is that of the exit,
-- and its root is the name of the span. A wait that does not end lasts to the end of the recording. So does the wait of
-- a span that a thread is in at the end. Spans wait at the same time: times add up.
SELECT
    [stack_part(coalesce(ustack_id, kstack_id)), label_part(span_name(trace_name))] AS stack,
    count(*) AS count, sum(wait_ns) AS wait_time
FROM span_waits
WHERE wait_ns > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY trace_name, coalesce(ustack_id, kstack_id);
