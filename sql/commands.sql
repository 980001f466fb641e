-- The commands of a recording, the busiest first: stacksexport prints them if a query has no result.
SELECT command, count(*) AS events
FROM all_events
WHERE kind NOT IN ('lost', 'rate') AND command != ''
GROUP BY command
ORDER BY events DESC, command
LIMIT 20;
