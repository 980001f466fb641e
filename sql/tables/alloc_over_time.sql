-- Which stacks keep more and more memory?
--     stacksexport query -f sql/tables/alloc_over_time.sql [-c COMMAND] [-b PROGRAM]
-- One row per stack that has live memory at the end, most first. quarter_1 to quarter_4: its live bytes at the end of each
-- quarter of the time from the first allocation to the last event of this source. A leak grows in each. stack: the
-- function that was called, and its callers. Bytes are estimated from samples.
WITH blocks AS (
    SELECT a.ustack_id, a.amount, a.timestamp AS born, f.timestamp AS died
    FROM events a
    LEFT JOIN events f ON f.kind = 'free' AND f.id = a.id AND f.host IS NOT DISTINCT FROM a.host
    WHERE a.kind = 'alloc'
        AND ('?command' IS NULL OR a.command = '?command') AND ('?buildid' IS NULL OR a.buildid = unhex('?buildid'))
), span AS (
    SELECT min(born) AS first, greatest(max(born), max(died)) - min(born) AS length FROM blocks
), live AS (
    SELECT
        ustack_id,
        coalesce(sum(amount) FILTER (born <= first + length // 4 AND coalesce(died > first + length // 4, true)), 0)
            AS quarter_1,
        coalesce(sum(amount) FILTER (born <= first + length // 2 AND coalesce(died > first + length // 2, true)), 0)
            AS quarter_2,
        coalesce(sum(amount) FILTER (born <= first + length // 4 * 3 AND coalesce(died > first + length // 4 * 3, true)), 0)
            AS quarter_3,
        coalesce(sum(amount) FILTER (died IS NULL), 0) AS quarter_4
    FROM blocks, span
    GROUP BY ustack_id
)
SELECT
    l.quarter_1, l.quarter_2, l.quarter_3, l.quarter_4,
    list_aggregate(list_transform(s.frames[1:6], lambda f: coalesce(f.name, '?')), 'string_agg', ' < ') AS stack
FROM live l
LEFT JOIN stacktraces s ON s.stack_id = l.ustack_id
WHERE l.quarter_4 > 0
ORDER BY l.quarter_4 DESC;
