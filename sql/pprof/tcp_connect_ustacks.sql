-- Which code opens TCP connections, and how long does that take?
--     stacksexport pprof sql/pprof/tcp_connect_ustacks.sql [-c COMMAND] [-b PROGRAM]
-- count: attempted connections. connect_time: from SYN to success or failure (column reason). The stack is the user
-- stack, or the kernel stack if there is none.
SELECT
    [coalesce(ustack_id, kstack_id)] AS stack,
    sum(coalesce(weight, 1)) AS count,
    sum(duration::HUGEINT * coalesce(weight, 1)) AS connect_time
FROM events
WHERE kind = 'tcp_connect'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
