-- Which code of a command sends and receives over TCP, and how much?
--     stacksexport pprof sql/pprof/net_ustack_tcp_bandwidth_for_command.sql -c COMMAND
-- count: calls. bandwidth: bytes that were sent or received, without headers. The function on top tells the two apart.
-- The stack is the user's, or the kernel's where there is none.
WITH calls AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(amount * coalesce(weight, 1))::BIGINT AS bandwidth
    FROM events
    WHERE kind IN ('tcp_send', 'tcp_recv') AND command = '?command'
    GROUP BY ALL
)
SELECT frames AS stack, count, bandwidth
FROM calls
LEFT JOIN stacktraces USING (stack_id);
