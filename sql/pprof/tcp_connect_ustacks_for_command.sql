-- Which code of a command opens TCP connections, and how long does that take?
--     stacksexport pprof sql/pprof/tcp_connect_ustacks_for_command.sql -c COMMAND
-- count: connections that were tried. connect_time: from SYN until it was established or failed (column reason). The
-- stack is the user's, or the kernel's where there is none.
WITH connects AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(duration * coalesce(weight, 1))::BIGINT AS connect_time
    FROM events
    WHERE kind = 'tcp_connect' AND command = '?command'
    GROUP BY ALL
)
SELECT frames AS stack, count, connect_time
FROM connects
LEFT JOIN stacktraces USING (stack_id);
