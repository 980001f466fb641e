-- `stacksexport live`: the names of the functions in its flame graph.
SELECT id, name
FROM functions;
