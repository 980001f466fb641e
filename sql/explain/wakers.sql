-- For whom threads waited: which program ended their waits by a wake-up, for the commands that were blocked longest. The
-- waits are those of top_offcpu, with waits for work.
WITH pairs AS (
    SELECT command, coalesce(waker_command, '') AS waker, sum(blocked_ns) AS ns, count(*) AS intervals
    FROM wakeups
    WHERE state IS DISTINCT FROM 'idle' AND (SELECT count(*) FROM explain_kinds WHERE kind = 'wake') > 0
    GROUP BY ALL
), shares AS (
    SELECT *, sum(ns) OVER (PARTITION BY command) AS command_ns
    FROM pairs
)
SELECT
    '- ' || md(command) || ' was blocked for ' || span_text(command_ns) || ', waits for work included; '
    || CASE WHEN waker = '' THEN 'a timer, an interrupt or the kernel ended '
            WHEN waker = command THEN 'its own threads ended '
            ELSE md(waker) || ' ended ' END
    || percent_text(ns, command_ns) || ' of that (' || plural(intervals, 'interval') || ').' AS line
FROM shares
WHERE ns >= 0.2 * command_ns AND command_ns > 0
QUALIFY dense_rank() OVER (ORDER BY command_ns DESC, command) <= 4
ORDER BY command_ns DESC, command, ns DESC, waker;
