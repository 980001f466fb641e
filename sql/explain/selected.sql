-- How many events are in the selection: `stacksexport explain` says so if there are none.
SELECT count(*) AS events
FROM events
WHERE kind != 'lost';
