-- What the recording does not know: lost events, stacks that end early, functions without names, sources that were off.
WITH losses AS (
    SELECT coalesce(lost_kind, '?') AS source, coalesce(reason, '?') AS reason, sum(amount) AS n
    FROM all_events
    WHERE kind = 'lost' AND in_selected_range(timestamp)
    GROUP BY ALL
), walks AS (
    SELECT coalesce(unwind, 'unknown') AS how, count(*) AS n
    FROM events
    WHERE ustack_id IS NOT NULL
    GROUP BY how
), nameless AS (
    SELECT sum("self s") AS all_ns, sum("self s") FILTER (starts_with(function, '+') OR function = '[no symbol]') AS ns
    FROM top_cpu
), sources(kind, place, gives) AS (
    VALUES
        ('profile', 1, 'CPU time by function (`collector -p profile`)'),
        ('switch', 2, 'where threads wait (`collector -p switch`)'),
        ('wake', 3, 'which program ends a wait (`collector -p wake`)'),
        ('rss', 4, 'growth of memory (`collector -p rss`)')
)
SELECT line
FROM (
    SELECT
        1 AS place, n,
        '- ' || plural(n, 'event') || ' of ' || md(source) || CASE WHEN n = 1 THEN ' was' ELSE ' were' END || ' lost ('
        || md(reason) || '): its sums are too small.' AS line
    FROM losses
    UNION ALL
    SELECT
        2, sum(n),
        '- ' || printf('%.1f %%', floor(1000.0 * coalesce(sum(n) FILTER (how = 'root'), 0) / sum(n)) / 10)
        || ' of ' || plural(sum(n), 'user stack')
        || ' reach the root'
        || coalesce('; the others end early: ' || string_agg(md(how) || ' ' || count_text(n), ', ' ORDER BY n DESC, how)
            FILTER (how != 'root'), '') || '.'
    FROM walks
    HAVING sum(n) > 0
    UNION ALL
    SELECT 3, ns, '- ' || percent_text(ns, all_ns) || ' of the CPU time is in functions without a name.'
    FROM nameless
    WHERE ns > 0.01 * all_ns
    UNION ALL
    SELECT 5, -s.place, '- It has no event of kind ' || md(s.kind) || ', so it does not show ' || gives || '.'
    FROM sources s
    ANTI JOIN explain_kinds USING (kind))
ORDER BY place, n DESC, line;
