-- CPU and off-CPU time by whom. `stacksexport top` prints this and its other tables unchanged, but for the title of the
-- column `who`: integers are nanoseconds if their name ends in " s" or " ms"; columns that begin with "total" or end in
-- " ms" have no sum. idle: blocked, waiting for work. Kernel threads that wait for work (state `idle`) are in none of the
-- tables; idle.sql counts them.
WITH cpu AS (
    SELECT who, sum(cpu_ns) AS cpu_ns
    FROM cpu_samples
    GROUP BY who
), off AS (
    SELECT who, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns, sum(idle_ns) AS idle_ns
    FROM sorted_waits
    GROUP BY who
)
SELECT
    coalesce(cpu_ns, 0) AS "cpu s",
    100.0 * coalesce(cpu_ns, 0) / nullif(sum(cpu_ns) OVER (), 0) AS "cpu %",
    coalesce(blocked_ns, 0) AS "blocked s",
    coalesce(runnable_ns, 0) AS "runnable s",
    coalesce(idle_ns, 0) AS "idle s",
    coalesce(cpu.who, off.who) AS who
FROM cpu
FULL JOIN off ON off.who = cpu.who
ORDER BY "cpu s" DESC, "blocked s" + "runnable s" DESC, "idle s" DESC, who;
