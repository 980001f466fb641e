-- `stacksexport trace`: the last recorded names of the drawn processes and threads.
WITH drawn AS (
    SELECT DISTINCT pid, tid
    FROM trace_events
    WHERE problem IS NULL
), named AS (
    SELECT
        tgid AS pid, pid AS tid,
        arg_max(
            CASE WHEN getvariable('grouped_by') IN ('cgroup', 'container', 'unit', 'host')
                THEN concat(group_of(command, thread, tgid, pid, cgroup, trace_name, host), ': ') ELSE '' END || command,
            timestamp) AS command,
        arg_max(coalesce(thread, command), timestamp) AS thread
    FROM all_events
    WHERE tgid IN (SELECT pid FROM drawn) AND command != ''
    GROUP BY ALL
)
SELECT pid, tid, (SELECT any_value(command) FROM named n WHERE n.pid = drawn.pid) AS command, thread
FROM drawn
LEFT JOIN named USING (pid, tid)
ORDER BY pid, tid;
