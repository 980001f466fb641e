-- Rows of each kind, and lost events of each source: stacksexport warns where what a query reads lost some.
SELECT
    coalesce(lost_kind, kind) AS name, (kind = 'lost')::INTEGER AS lost,
    sum(CASE kind WHEN 'lost' THEN amount ELSE 1 END) AS count
FROM events
GROUP BY ALL;
