-- Stacks without the native frames of interpreters (mark 'interpreter'): what is left is the program in its own words,
-- and the native code that it calls. stacksexport runs it, unless --interpreter is given, where a recording has such
-- frames; any DuckDB shell can, after stacks.sql.
CREATE OR REPLACE VIEW stacktraces AS
SELECT stack_id, list_filter(frames, lambda f: f.mark IS DISTINCT FROM 'interpreter') AS frames
FROM whole_stacktraces;
