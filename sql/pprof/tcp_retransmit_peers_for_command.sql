-- To which peers of a command does TCP have to send again?
--     stacksexport pprof sql/pprof/tcp_retransmit_peers_for_command.sql -c COMMAND
-- count: segments that were sent again. amount: their bytes, where the kernel says. The root of each stack is the
-- peer's address; what lies on it is the kernel's code that decided it: most often the timer.
WITH retransmits AS (
    SELECT
        peer, kstack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(amount * coalesce(weight, 1))::BIGINT AS amount
    FROM events
    WHERE kind = 'tcp_retransmit' AND command = '?command'
    GROUP BY peer, kstack_id
)
SELECT list_concat(as_frames(frames), label(coalesce(peer, '[unknown peer]'))) AS stack, count, amount
FROM retransmits
LEFT JOIN stacktraces ON stack_id = kstack_id;
