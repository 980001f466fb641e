-- The kinds of events in a recording: what stacksexport says when a query has no result.
SELECT DISTINCT kind
FROM all_events
WHERE kind != 'lost'
ORDER BY kind;
