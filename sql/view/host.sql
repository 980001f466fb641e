-- The hosts of a recording, as one text.
SELECT coalesce(string_agg(host, ', ' ORDER BY host), '') AS host
FROM (SELECT DISTINCT host FROM page.totals WHERE host IS NOT NULL);
