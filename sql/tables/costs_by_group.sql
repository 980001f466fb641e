-- What did each command use, or each group of --by?
--     stacksexport query -f sql/tables/costs_by_group.sql [-c COMMAND] [-b PROGRAM] [--by WHAT]
-- Time, disk, network and memory. WHAT is process, thread, cgroup, container, unit, span or host. Seconds of all threads,
-- and bytes. disk_s is the time of requests, which blocked_s may include; blocked_s includes waiting for work. rss_growth
-- is net growth of memory. A column is 0 if the recording does not have its source.
WITH costs AS (
    SELECT
        group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS group_name,
        sum(duration::HUGEINT * coalesce(weight, 1)) FILTER (kind = 'profile') AS cpu, 0 AS blocked, 0 AS runnable,
        sum(duration::HUGEINT * coalesce(weight, 1)) FILTER (kind LIKE 'blk_%') AS disk,
        sum(amount::HUGEINT * coalesce(weight, 1)) FILTER (kind LIKE 'blk_%') AS disk_bytes,
        sum(amount::HUGEINT * coalesce(weight, 1))
            FILTER (kind IN ('tcp_send', 'tcp_recv', 'udp_send', 'udp_recv', 'unix_send', 'unix_recv')) AS net_bytes,
        0 AS growth, count(*) AS events
    FROM events
    WHERE kind NOT IN ('lost', 'rate')
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
    UNION ALL
    SELECT
        group_of(command, thread, tgid, pid, cgroup, trace_name, host), 0, sum(blocked_ns), sum(runnable_ns), 0, 0, 0, 0, 0
    FROM offcpu
    WHERE state != 'idle' -- kernel threads that wait for work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
    UNION ALL
    SELECT group_of(command, thread, tgid, pid, cgroup, trace_name, host), 0, 0, 0, 0, 0, 0, sum(growth), 0
    FROM rss
    WHERE growth != 0
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
)
SELECT
    group_name AS "group", coalesce(round(sum(cpu) / 1e9, 3), 0) AS cpu_s, round(sum(blocked) / 1e9, 3) AS blocked_s,
    round(sum(runnable) / 1e9, 3) AS runnable_s, coalesce(round(sum(disk) / 1e9, 3), 0) AS disk_s,
    coalesce(sum(disk_bytes), 0)::BIGINT AS disk_bytes, coalesce(sum(net_bytes), 0)::BIGINT AS net_bytes,
    coalesce(sum(growth), 0)::BIGINT AS rss_growth, sum(events)::BIGINT AS events
FROM costs
GROUP BY ALL
ORDER BY cpu_s DESC, events DESC, "group";
