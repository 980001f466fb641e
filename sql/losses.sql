-- Rows of each kind and lost events of each source in the selected range: stacksexport warns if a query reads a kind that
-- lost events.
SELECT
    coalesce(lost_kind, kind) AS name, (kind = 'lost')::INTEGER AS lost,
    sum(CASE kind WHEN 'lost' THEN amount ELSE 1 END) AS count
FROM all_events
WHERE in_selected_range(timestamp)
GROUP BY ALL;
