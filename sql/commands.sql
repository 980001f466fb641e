-- The commands of a recording, the busiest first: what stacksexport says when a query has no result.
SELECT command, count(*) AS events
FROM all_events
WHERE kind != 'lost' AND command != ''
GROUP BY command
ORDER BY events DESC, command
LIMIT 20;
