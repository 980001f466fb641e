-- Which code starts processes, and how long do they live?
--     stacksexport pprof sql/pprof/fork_ustacks.sql [-c COMMAND] [-b PROGRAM]
-- count: started processes. life_time: from the start of a process to its end, or to the end of the recording; the sum
-- over all. The stack is the user stack, or the kernel stack if there is none.
WITH forks AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id, timestamp, coalesce(weight, 1) AS weight,
        hash(host, target) AS thread_key
    FROM events
    WHERE kind = 'fork'
        AND ('?command' IS NULL OR command = '?command')
        AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
), exits AS (
    SELECT timestamp, hash(host, pid) AS thread_key
    FROM all_events
    WHERE kind = 'exit'
), lives AS (
    SELECT
        stack_id, weight,
        coalesce(exits.timestamp, (SELECT max(timestamp) FROM all_events)) - forks.timestamp AS life_ns
    FROM forks
    ASOF LEFT JOIN exits ON forks.thread_key = exits.thread_key AND forks.timestamp <= exits.timestamp
)
SELECT
    [stack_id] AS stack, sum(life_ns::HUGEINT * weight) AS life_time,
    sum(weight) AS count -- a profile opens with the last column
FROM lives
GROUP BY stack_id;
