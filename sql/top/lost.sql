-- Events that were lost, by the program that lost them and by reason.
SELECT concat_ws(' ', lost_kind, reason) AS what, sum(amount) AS count
FROM all_events
WHERE kind = 'lost' AND in_selected_range(timestamp)
GROUP BY what
ORDER BY count DESC, what;
