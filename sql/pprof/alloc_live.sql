-- Which code allocated the memory that was never freed?
--     stacksexport pprof sql/pprof/alloc_live.sql [-c COMMAND] [-b PROGRAM]
-- count: blocks that were live when their process or the recording ended. live_bytes: their bytes. Both are estimated from
-- samples: n samples have a relative error of 1/sqrt(n). Blocks of before the recording are not included. A program
-- that still runs needs some of them: compare two recordings, or see alloc_over_time.sql.
SELECT
    [a.ustack_id] AS stack,
    sum(a.weight) AS count,
    sum(a.amount) AS live_bytes
FROM events a
WHERE a.kind = 'alloc'
    AND NOT EXISTS (
        SELECT 1 FROM events f
        WHERE f.kind = 'free' AND f.id = a.id AND f.host IS NOT DISTINCT FROM a.host
    )
    AND ('?command' IS NULL OR a.command = '?command')
    AND ('?buildid' IS NULL OR a.buildid = decode('?buildid', 'hex'))
GROUP BY a.ustack_id;
