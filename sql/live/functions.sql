-- `stacksexport live`: CPU time by function, with as many columns as 80 characters have room for.
SELECT "self s", "self %", "total %", group_name, module, function
FROM live_rows;
