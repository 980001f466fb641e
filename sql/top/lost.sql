-- Events that were lost, by the program that lost them and by reason.
SELECT concat_ws(' ', lost_kind, reason) AS what, sum(amount) AS count
FROM events
WHERE kind = 'lost'
GROUP BY what
ORDER BY count DESC, what;
