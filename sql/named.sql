-- How many events the command and the program of -c and -b have: stacksexport uses it to explain why a query has no
-- result.
SELECT
    count(*) FILTER (command = '?command') AS of_command,
    count(*) FILTER (buildid = unhex('?buildid')) AS of_program
FROM events
WHERE kind != 'lost';
