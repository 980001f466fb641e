-- How is the time of each kind of span spent: running, ready to run, or blocked in what?
--     stacksexport pprof sql/pprof/span_time.sql [-c COMMAND] [-b PROGRAM]
-- count: samples or intervals. span_time: time of threads in the span (its name is the root), by activity. Time counts
-- for the innermost span. Needs kinds switch and profile.
WITH waits AS (
    SELECT
        trace_name, ustack_id, kstack_id,
        count(*) FILTER (blocked_ns > 0) AS blocked, sum(blocked_ns) AS blocked_ns,
        count(*) FILTER (runnable_ns > 0) AS runnable, sum(runnable_ns) AS runnable_ns
    FROM offcpu
    WHERE span_id != 0
        AND ('?command' IS NULL OR command = '?command')
        AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
    GROUP BY ALL
), times AS (
    SELECT
        trace_name, ustack_id, kstack_id, 'running' AS what,
        sum(coalesce(weight, 1)) AS count, sum(duration::HUGEINT * coalesce(weight, 1)) AS ns
    FROM events
    WHERE kind = 'profile' AND span_id != 0
        AND ('?command' IS NULL OR command = '?command')
        AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
    GROUP BY ALL
    UNION ALL
    SELECT trace_name, ustack_id, kstack_id, 'blocked', blocked, blocked_ns FROM waits WHERE blocked > 0
    UNION ALL
    SELECT trace_name, ustack_id, kstack_id, 'runnable', runnable, runnable_ns FROM waits WHERE runnable > 0
)
SELECT
    [stack_part(kstack_id), stack_part(ustack_id), label_part(what), label_part(span_name(trace_name))] AS stack,
    count, ns AS span_time
FROM times;
