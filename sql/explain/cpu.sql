-- Where CPU time went: the functions with the most self time, of `stacksexport top`, CPU TIME BY FUNCTION (top_cpu), and
-- those with the largest totals that are not at the root of most stacks of their command.
WITH of_commands AS (
    SELECT *, max("total s") OVER (PARTITION BY group_name) AS command_ns, sum("self s") OVER () AS all_ns
    FROM top_cpu
), own AS (
    SELECT *, row_number() OVER (ORDER BY "self s" DESC, group_name, module, function) AS place
    FROM of_commands
    WHERE "self s" > 0
), inclusive AS (
    SELECT *, row_number() OVER (ORDER BY "total s" DESC, "self s" DESC, group_name, module, function) AS place
    FROM of_commands
    WHERE "total s" < 0.8 * command_ns AND "total s" > 2 * "self s" AND "total s" > 0.05 * all_ns AND module != '[kernel]'
)
SELECT line
FROM (
    SELECT
        place,
        '- ' || md(function) || CASE WHEN module != '' THEN ' of ' || md(module) ELSE '' END
        || ', in ' || md(group_name) || ': '
        || percent_text("self s", all_ns) || ' of the CPU time was in the function itself (' || span_text("self s") || ')'
        || CASE WHEN "for" != '' THEN ', for ' || md("for") ELSE '' END || '.' AS line
    FROM own
    WHERE place <= 6
    UNION ALL
    SELECT
        100 + place,
        '- ' || md(function) || ' of ' || md(module) || ', in ' || md(group_name) || ': with what it calls, '
        || percent_text("total s", all_ns) || ' of the CPU time (' || span_text("total s") || ').'
    FROM inclusive
    WHERE place <= 4)
ORDER BY place;
