-- To which peers does TCP have to retransmit?
--     stacksexport pprof sql/pprof/tcp_retransmit_peers.sql [-c COMMAND] [-b PROGRAM]
-- count: rows of the recording. segments: the retransmitted segments that they represent. The root of each stack is the
-- peer's address. Above it is the kernel code that decided to retransmit, most often the timer, if kernel stacks were
-- recorded (tcp:uk).
SELECT
    [stack_part(kstack_id), label_part(coalesce(peer, '[unknown peer]'))] AS stack,
    count(*) AS count,
    sum(coalesce(weight, 1)) AS segments
FROM events
WHERE kind = 'tcp_retransmit'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY kstack_id, peer;
