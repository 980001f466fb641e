-- Events that were lost while recording.
SELECT coalesce(lost_kind, '') AS kind, coalesce(reason, '') AS reason, sum(amount) AS events
FROM page.totals
WHERE kind = 'lost'
GROUP BY ALL
ORDER BY events DESC, kind, reason;
