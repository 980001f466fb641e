-- `stacksexport live`: time off the CPU by function, with as many columns as 80 characters have room for.
SELECT "blocked s", "runnable s", waits, "max ms", group_name, call, function
FROM live_rows;
