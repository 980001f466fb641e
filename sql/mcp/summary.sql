-- What a recording has, for the tool `summary` of `stacksexport mcp`:
--     stacksexport query -f sql/mcp/summary.sql
-- Its time range, events by kind, lost events by source and reason, and the commands with the most events. `events` of a
-- range is nanoseconds since 1970.
SELECT what, name, events
FROM (
    SELECT 0 AS place, 'begins' AS what, '' AS name,
           selected_begin(min(timestamp - duration) FILTER (kind != 'exit')) AS events
    FROM all_events
    UNION ALL
    SELECT 1, 'ends', '', least(max(timestamp), getvariable('selected_to'))
    FROM all_events
    UNION ALL
    SELECT 2, 'kind', kind, count(*)
    FROM events
    WHERE kind != 'lost'
    GROUP BY kind
    UNION ALL
    SELECT 3, 'lost', concat_ws(' ', lost_kind, reason), sum(amount)
    FROM all_events
    WHERE kind = 'lost' AND in_selected_range(timestamp)
    GROUP BY ALL
    UNION ALL
    FROM (
        SELECT 4, 'command', command, count(*) AS n
        FROM events
        WHERE kind != 'lost'
        GROUP BY command
        ORDER BY n DESC, command
        LIMIT 30))
ORDER BY place, events DESC, name;
