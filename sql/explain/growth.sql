-- What grew: the processes with the largest growth or shrinkage of memory (the view rss), by more than 1 MB.
SELECT
    '- ' || md(command) || ' (process ' || tgid || ') '
    || CASE WHEN growth > 0 THEN 'grew by ' ELSE 'shrank by ' END || bytes_text(abs(growth)) || '.' AS line
FROM (SELECT arg_max(command, timestamp) AS command, tgid, host, sum(growth)::BIGINT AS growth FROM rss GROUP BY tgid, host)
WHERE abs(growth) > 1000000
ORDER BY abs(growth) DESC, command, tgid
LIMIT 5;
