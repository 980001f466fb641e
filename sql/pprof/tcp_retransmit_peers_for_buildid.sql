-- To which peers of a program does TCP have to send again?
--     stacksexport pprof sql/pprof/tcp_retransmit_peers_for_buildid.sql -b PROGRAM
-- count: rows of the recording. segments: what they stand for: the segments that were sent again. The root of each
-- stack is the peer's address; what lies on it is the kernel's code that decided it: most often the timer.
WITH retransmits AS (
    SELECT
        peer, kstack_id,
        count(*) AS count,
        sum(coalesce(weight, 1))::BIGINT AS segments
    FROM events
    WHERE kind = 'tcp_retransmit' AND buildid = decode('?buildid', 'hex')
    GROUP BY peer, kstack_id
)
SELECT list_concat(as_frames(frames), label(coalesce(peer, '[unknown peer]'))) AS stack, count, segments
FROM retransmits
LEFT JOIN stacktraces ON stack_id = kstack_id;
