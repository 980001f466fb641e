-- When the recording begins and ends, in nanoseconds since 1970.
SELECT coalesce(min(begins), 0) AS begins, coalesce(max(ends), 0) AS ends
FROM page.totals;
