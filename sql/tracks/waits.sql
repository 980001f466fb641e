-- `stacksexport firefox`: the time off the CPU as samples with the stack in which the thread waited. An interval is up to
-- two samples: blocked, under the name of the thread's state, and then runnable.
WITH waits AS (
    SELECT
        coalesce(state, 'off CPU') AS state, tgid, pid, selected_begin(timestamp) AS begin_ns, blocked_ns, runnable_ns,
        kstack_id, ustack_id
    FROM offcpu
    WHERE offcpu_ns > 0
        AND (state IS DISTINCT FROM 'idle' OR command = '?command') -- idle: a kernel thread without work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
)
SELECT
    'sample' AS event, state AS name, tgid AS pid, pid AS tid, 'offcpu' AS kind,
    begin_ns * 0.001 AS timestamp, blocked_ns AS amount, [kstack_id, ustack_id] AS stack
FROM waits
WHERE blocked_ns > 0
UNION ALL
SELECT 'sample', 'runnable', tgid, pid, 'offcpu', (begin_ns + blocked_ns) * 0.001, runnable_ns, [kstack_id, ustack_id]
FROM waits
WHERE runnable_ns > 0;
