-- How does the memory of each process change?
--     stacksexport trace sql/traceview/rss_counter.sql [-c COMMAND] [-b PROGRAM]
-- A counter per process: bytes of files, anonymous, shared and swapped memory.
SELECT 'counter' AS event, 'rss' AS name, tgid AS pid, timestamp * 0.001 AS timestamp, amount
FROM events
WHERE kind = 'rss'
    AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'));
