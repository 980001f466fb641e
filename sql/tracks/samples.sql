-- `stacksexport firefox` and `perfetto`: the CPU samples, each with the time in nanoseconds that it stands for.
SELECT
    'sample' AS event, 'on CPU' AS name, tgid AS pid, pid AS tid, kind, cpu,
    timestamp * 0.001 AS timestamp, -- microseconds, exactly
    duration::HUGEINT * coalesce(weight, 1) AS amount, [kstack_id, ustack_id] AS stack
FROM events
WHERE kind = 'profile'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
