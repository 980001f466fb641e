-- When does each thread send and receive, and to whom?
--     stacksexport trace sql/traceview/net_all.sql [-c COMMAND] [-b PROGRAM]
-- A slice per call, with the peer and the bytes.
SELECT
    'complete' AS event, concat_ws(' ', kind, peer) AS name,
    tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, -- microseconds, exactly
    [kstack_id, ustack_id] AS stack, amount, local, reason
FROM events
WHERE kind IN ('tcp_send', 'tcp_recv', 'udp_send', 'udp_recv', 'unix_send', 'unix_recv')
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
