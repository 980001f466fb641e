-- Which command to run next: for the command with the most CPU time, for the one that was blocked most, and for spans.
-- explain_recording: what -r was, if it was given.
WITH register AS (
    SELECT coalesce(' -r ' || shell_word(getvariable('explain_recording')), '') AS of_recording
), busiest AS (
    SELECT group_name FROM top_commands WHERE "cpu s" > 0 ORDER BY "cpu s" DESC, group_name LIMIT 1
), blocked AS (
    SELECT group_name FROM top_commands WHERE "blocked s" > 0 ORDER BY "blocked s" DESC, group_name LIMIT 1
), lines AS (
    SELECT 1 AS place, 'stacksexport top' || of_recording || ' -c ' || shell_word(group_name) AS command,
           'all functions of the busiest command' AS gives
    FROM busiest, register
    UNION ALL
    SELECT 2, 'stacksexport pprof cpu_stacks.sql' || of_recording || ' -c ' || shell_word(group_name),
           'its CPU time as a flame graph'
    FROM busiest, register
    UNION ALL
    SELECT 3, 'stacksexport pprof offcpu_blocked_stacks.sql' || of_recording || ' -c ' || shell_word(group_name),
           'where the command that was blocked longest waited'
    FROM blocked, register
    UNION ALL
    SELECT 4, 'stacksexport query -f slow_spans.sql' || of_recording, 'what happened in the slowest spans'
    FROM explain_kinds, register
    WHERE kind = 'trace_close'
    UNION ALL
    SELECT 5, 'stacksexport view' || of_recording, 'timeline, flame graphs, waits and SQL in a browser'
    FROM register
)
SELECT '- ' || md(command) || ': ' || gives || '.' AS line
FROM lines
ORDER BY place;
