-- How many events the command of -c, the program of -b, and the selection have: stacksexport prints why a query has no
-- result.
SELECT
    count(*) FILTER (command = '?command') AS of_command,
    count(*) FILTER (buildid = unhex('?buildid')) AS of_program,
    (SELECT count(*) FROM events WHERE kind NOT IN ('lost', 'rate')) AS of_selection
FROM all_events
WHERE kind NOT IN ('lost', 'rate');
