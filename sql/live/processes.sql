-- `stacksexport live`: time by process.
SELECT *
FROM live_rows;
