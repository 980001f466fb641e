-- Which processes used the CPUs or waited, by command line?
--     stacksexport query -f sql/tables/processes.sql [-c COMMAND] [-b PROGRAM]
-- The hundred processes with the most CPU time, with user, container and unit of systemd. cpu_s: samples of kind profile.
-- runnable_s: waiting for a CPU. blocked_s: waiting for something else; threads that wait at the same time add up.
-- command_line is the last one of the process. It is null if the process ended before it was read, for threads of the
-- kernel, and for recordings from before there was a table of processes. A column is 0 without its source.
WITH costs AS (
    SELECT
        host, tgid, timestamp, command, cgroup, duration::HUGEINT * coalesce(weight, 1) AS cpu, 0 AS runnable, 0 AS blocked
    FROM events
    WHERE kind = 'profile'
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    UNION ALL
    SELECT host, tgid, timestamp, command, cgroup, 0, runnable_ns, blocked_ns
    FROM offcpu
    WHERE state IS DISTINCT FROM 'idle' -- a kernel thread without work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
), seconds AS (
    -- The kernel uses the id of a process again, but not within a second.
    SELECT
        host, tgid, max(timestamp) AS timestamp, max_by(command, timestamp) AS command,
        max_by(cgroup, timestamp) AS cgroup, sum(cpu) AS cpu, sum(runnable) AS runnable, sum(blocked) AS blocked
    FROM costs
    GROUP BY host, tgid, timestamp // 1000000000
)
SELECT
    (sum(cpu) / 1e9)::DECIMAL(18, 3) AS cpu_s,
    (sum(runnable) / 1e9)::DECIMAL(18, 3) AS runnable_s,
    (sum(blocked) / 1e9)::DECIMAL(18, 3) AS blocked_s,
    s.tgid AS pid,
    coalesce(any_value(p.user), any_value(p.uid)::VARCHAR) AS user,
    nullif(container_of(max_by(s.cgroup, s.timestamp)), '') AS container,
    nullif(unit_of(max_by(s.cgroup, s.timestamp)), '') AS unit,
    max_by(command, s.timestamp) AS command,
    any_value(p.command_line) AS command_line
FROM seconds s
ASOF LEFT JOIN processes p ON s.host = p.host AND s.tgid = p.tgid AND s.timestamp >= p.start
GROUP BY s.host, s.tgid, p.start
ORDER BY sum(cpu) DESC, sum(runnable) DESC, sum(blocked) DESC, pid
LIMIT 100;
