-- How many events there are of the command and of the program that -c and -b name, and in the selection: what stacksexport
-- says when a query has no result.
SELECT
    count(*) FILTER (command = '?command') AS of_command,
    count(*) FILTER (buildid = unhex('?buildid')) AS of_program,
    (SELECT count(*) FROM events WHERE kind NOT IN ('lost', 'rate')) AS of_selection
FROM all_events
WHERE kind NOT IN ('lost', 'rate');
