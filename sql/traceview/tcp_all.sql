-- When are TCP connections opened, accepted and reset, and when does TCP retransmit?
--     stacksexport trace sql/traceview/tcp_all.sql [-c COMMAND] [-b PROGRAM]
-- A slice from the SYN until the connection is established or failed, and one per accept. Instants for retransmitted
-- segments and for resets.
SELECT
    CASE WHEN kind IN ('tcp_connect', 'tcp_accept') THEN 'complete' ELSE 'instant' END AS event,
    concat_ws(' ', kind, peer) AS name, tgid AS pid, pid AS tid, kind, cpu,
    timestamp * 0.001 AS timestamp, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack, local, reason
FROM events
WHERE kind IN ('tcp_connect', 'tcp_accept', 'tcp_retransmit', 'tcp_reset')
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
