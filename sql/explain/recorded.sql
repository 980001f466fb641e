-- What was recorded: when, for how long, where, and which events.
SELECT
    'It covers ' || span_text(any_value(wall_ns)) || ' on '
    || coalesce(nullif(string_agg(DISTINCT md(host), ', ' ORDER BY md(host)), ''), 'an unknown host') || ': '
    || plural(count(*), 'event') || ' of ' || plural(count(DISTINCT command), 'command') || ', '
    || CASE count(DISTINCT tgid) WHEN 1 THEN '1 process' ELSE count_text(count(DISTINCT tgid)) || ' processes' END
    || ' and ' || plural(count(DISTINCT pid), 'thread') || '.' AS line
FROM events, explain_range
WHERE kind != 'lost'
HAVING count(*) > 0
UNION ALL
SELECT 'The kinds of events are ' || string_agg(md(kind) || ' (' || count_text(n) || ')', ', ' ORDER BY n DESC, kind) || '.'
FROM (SELECT kind, count(*) AS n FROM events WHERE kind != 'lost' GROUP BY kind)
HAVING count(*) > 0;
