-- CPU and off-CPU time by group (group_of). `stacksexport top` prints the columns of its tables under their names, and
-- `group_name` under the name of the group. Integers are nanoseconds if the name ends in " s" or " ms". Columns that begin
-- with "total" or end in " ms" have no sum. idle: blocked, waiting for work. Kernel threads that wait for work (state
-- `idle`) are in none of the tables; idle.sql counts them.
WITH cpu AS (
    SELECT group_name, sum(cpu_ns) AS cpu_ns
    FROM cpu_samples
    GROUP BY group_name
), off AS (
    SELECT group_name, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns, sum(idle_ns) AS idle_ns
    FROM sorted_waits
    GROUP BY group_name
)
SELECT
    coalesce(cpu_ns, 0) AS "cpu s",
    100.0 * coalesce(cpu_ns, 0) / nullif(sum(cpu_ns) OVER (), 0) AS "cpu %",
    coalesce(blocked_ns, 0) AS "blocked s",
    coalesce(runnable_ns, 0) AS "runnable s",
    coalesce(idle_ns, 0) AS "idle s",
    coalesce(cpu.group_name, off.group_name) AS group_name
FROM cpu
FULL JOIN off ON off.group_name = cpu.group_name
ORDER BY "cpu s" DESC, "blocked s" + "runnable s" DESC, "idle s" DESC, group_name;
