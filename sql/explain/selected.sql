-- How many events are in the selection: without any, `stacksexport explain` writes a page that says so.
SELECT count(*) AS events
FROM events
WHERE kind != 'lost';
