-- The kinds of events in a recording: stacksexport uses them to explain why a query has no result.
SELECT DISTINCT kind
FROM all_events
WHERE kind NOT IN ('lost', 'rate')
ORDER BY kind;
