-- CPU and off-CPU time by command. `stacksexport top` prints this and its other tables unchanged: integers are
-- nanoseconds if their name ends in " s"; columns that begin with "total" have no sum. Kernel threads that wait for
-- work (state `idle`) are in none of them; idle.sql counts them.
WITH cpu AS (
    SELECT command, sum(cpu_ns) AS cpu_ns
    FROM cpu_samples
    GROUP BY command
), off AS (
    SELECT command, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns
    FROM offcpu_waits
    WHERE state != 'idle'
    GROUP BY command
)
SELECT
    coalesce(cpu_ns, 0) AS "cpu s",
    100.0 * coalesce(cpu_ns, 0) / nullif(sum(cpu_ns) OVER (), 0) AS "cpu %",
    coalesce(blocked_ns, 0) AS "blocked s",
    coalesce(runnable_ns, 0) AS "runnable s",
    coalesce(cpu.command, off.command) AS command
FROM cpu
FULL JOIN off ON off.command = cpu.command
ORDER BY "cpu s" DESC, "blocked s" + "runnable s" DESC, command;
