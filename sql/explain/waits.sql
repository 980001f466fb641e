-- Where threads waited: the rows of `stacksexport top`, OFF-CPU TIME BY FUNCTION (top_offcpu), without waits for work.
SELECT
    '- ' || md(group_name) || ' waited ' || span_text("blocked s" + "runnable s") || ' in ' || md(function)
    || CASE WHEN call != '' THEN ', which called ' || md(call) ELSE '' END || ': ' || plural(waits, 'interval')
    || CASE WHEN "max ms" > 0
        THEN ', half of them up to ' || span_text("p50 ms") || ', the longest ' || span_text("max ms") ELSE '' END
    || CASE WHEN "runnable s" > "blocked s" THEN '; mostly for a CPU' ELSE '' END || '.' AS line
FROM top_offcpu
WHERE "blocked s" + "runnable s" > 0
ORDER BY "blocked s" + "runnable s" DESC, group_name, module, function
LIMIT 8;
