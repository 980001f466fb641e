-- The hosts of a recording.
SELECT DISTINCT coalesce(host, '') AS host
FROM page.totals
ORDER BY host;
