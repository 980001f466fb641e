-- What ran and what it cost: the rows of `stacksexport top`, TIME BY COMMAND (top_commands).
WITH sums AS (
    SELECT *, sum("cpu s") OVER () AS all_cpu,
           row_number() OVER (ORDER BY "cpu s" DESC, "blocked s" + "runnable s" DESC, group_name) AS place
    FROM top_commands
)
SELECT line
FROM (
    SELECT
        0 AS place,
        'In all, programs used ' || span_text(sum("cpu s")) || ' of CPU time: '
        || printf('%.2f', sum("cpu s") / any_value(wall_ns))
        || ' CPUs on average, of at least ' || any_value(cpus) || '.' AS line
    FROM sums, explain_range
    HAVING sum("cpu s") > 0
    UNION ALL
    SELECT
        place,
        '- ' || md(group_name) || ' used ' || span_text("cpu s") || ' of CPU time'
        || CASE WHEN all_cpu > 0 THEN ' (' || percent_text("cpu s", all_cpu) || ')' ELSE '' END
        || CASE WHEN "blocked s" > 0 THEN ', was blocked for ' || span_text("blocked s") ELSE '' END
        || CASE WHEN "runnable s" > 0 THEN ', waited for a CPU for ' || span_text("runnable s") ELSE '' END
        || CASE WHEN "idle s" > 0 THEN ', and waited for work for ' || span_text("idle s") ELSE '' END || '.'
    FROM sums
    WHERE place <= 5 AND "cpu s" + "blocked s" + "runnable s" + "idle s" > 0)
ORDER BY place;
