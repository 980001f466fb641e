-- How many events there are of the command and of the program that -c and -b name: what stacksexport says when a query has
-- no result.
SELECT
    count(*) FILTER (command = '?command') AS of_command,
    count(*) FILTER (buildid = unhex('?buildid')) AS of_program
FROM events
WHERE kind != 'lost';
