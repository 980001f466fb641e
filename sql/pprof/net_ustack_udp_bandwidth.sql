-- Which code sends and receives over UDP, and how much?
--     stacksexport pprof sql/pprof/net_ustack_udp_bandwidth.sql [-c COMMAND] [-b PROGRAM]
-- count: calls. bandwidth: sent and received bytes, without headers. The function on top shows the direction. The stack
-- is the user stack, or the kernel stack if there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(amount::HUGEINT * coalesce(weight, 1)) AS bandwidth
FROM events
WHERE kind IN ('udp_send', 'udp_recv')
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
