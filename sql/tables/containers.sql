-- Which containers and units of systemd used the CPUs, waited for them, or used disks and the network?
--     stacksexport query -f sql/tables/containers.sql [-c COMMAND] [-b PROGRAM]
-- One row per container and unit, null for what is in none. name: as the container's runtime calls it, if it was known.
-- cpu_s: samples of kind profile. runnable_s: waiting for a CPU. blocked_s: waiting for something else; threads that wait at
-- the same time add up. disk_bytes: read and written by requests to disks. net_bytes: sent and received by sockets.
-- processes: number of processes with an event. A column is 0 without its source.
WITH costs AS (
    SELECT
        host, tgid, cgroup,
        sum(duration::HUGEINT * coalesce(weight, 1)) FILTER (kind = 'profile') AS cpu,
        0 AS runnable, 0 AS blocked,
        sum(amount::HUGEINT * coalesce(weight, 1)) FILTER (kind IN ('blk_read', 'blk_write')) AS disk,
        sum(amount::HUGEINT * coalesce(weight, 1))
            FILTER (kind IN ('tcp_send', 'tcp_recv', 'udp_send', 'udp_recv', 'unix_send', 'unix_recv')) AS net
    FROM events
    WHERE kind NOT IN ('lost', 'rate')
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY host, tgid, cgroup
    UNION ALL
    SELECT host, tgid, cgroup, 0, sum(runnable_ns), sum(blocked_ns), 0, 0
    FROM offcpu
    WHERE state IS DISTINCT FROM 'idle' -- a kernel thread without work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY host, tgid, cgroup
), names AS (
    SELECT host, cgroup, max(container_name) AS name FROM process_rows WHERE container_name IS NOT NULL GROUP BY ALL
)
SELECT
    nullif(container_of(coalesce(cgroup, '')), '') AS container, name,
    nullif(unit_of(coalesce(cgroup, '')), '') AS unit,
    coalesce(sum(cpu) / 1e9, 0)::DECIMAL(18, 3) AS cpu_s,
    (sum(runnable) / 1e9)::DECIMAL(18, 3) AS runnable_s,
    (sum(blocked) / 1e9)::DECIMAL(18, 3) AS blocked_s,
    coalesce(sum(disk), 0)::BIGINT AS disk_bytes,
    coalesce(sum(net), 0)::BIGINT AS net_bytes,
    count(DISTINCT (host, tgid)) AS processes
FROM costs
LEFT JOIN names USING (host, cgroup)
GROUP BY ALL
ORDER BY cpu_s DESC, runnable_s DESC, blocked_s DESC, container, unit
LIMIT 100;
