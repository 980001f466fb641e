-- What stands out against the rest of the machine.
WITH threads AS (
    SELECT command, coalesce(thread, command) AS thread, pid, sum(duration::HUGEINT * coalesce(weight, 1)) AS cpu_ns
    FROM events
    WHERE kind = 'profile'
    GROUP BY ALL
), disks AS (
    SELECT
        device, count(*) AS requests, quantile_cont(duration, 0.99) AS p99, max(duration) AS longest
    FROM events
    WHERE kind IN ('blk_read', 'blk_write', 'blk_flush', 'blk_discard')
    GROUP BY device
), failures AS (
    SELECT kind, reason, command, count(*) AS n
    FROM events
    WHERE kind IN ('tcp_connect', 'tcp_reset', 'tcp_retransmit') AND (kind != 'tcp_connect' OR reason IS NOT NULL)
    GROUP BY ALL
), lines AS (
    SELECT
        1 AS place, cpu_ns AS size,
        '- Thread ' || md(thread) || ' (' || pid || ') of ' || md(command) || ' was on a CPU for '
        || percent_text(cpu_ns, wall_ns)
        || ' of the time: one thread limits what it does.' AS line
    FROM threads, explain_range
    WHERE cpu_ns > 0.85 * wall_ns
    UNION ALL
    SELECT
        2, "runnable s",
        '- ' || md(group_name) || ' could run but waited for a CPU for ' || span_text("runnable s") || ', while it ran for '
        || span_text("cpu s") || ': there are not enough CPUs, or a limit of its cgroup throttles it.'
    FROM top_commands
    WHERE "runnable s" > 0.25 * "cpu s" AND "runnable s" > (SELECT 0.05 * wall_ns FROM explain_range)
    UNION ALL
    SELECT
        3, "max ms",
        '- One wait of ' || md(group_name) || ' in ' || md(function) || ' took ' || span_text("max ms") || ', '
        || printf('%.0f', "max ms" / "p50 ms") || ' times the usual ' || span_text("p50 ms") || '.'
    FROM top_offcpu
    WHERE "p50 ms" > 0 AND waits >= 20 AND "max ms" > 50 * "p50 ms" AND "max ms" > 100000000
    UNION ALL
    SELECT
        4, p99,
        '- 1 % of the ' || plural(requests, 'request') || ' to disk ' || md(device) || ' took more than ' || span_text(p99)
        || ', the longest ' || span_text(longest) || '.'
    FROM disks
    WHERE p99 > 20000000
    UNION ALL
    SELECT
        5, n,
        '- ' || md(command) || ' had ' || plural(n, 'event') || ' of kind ' || md(kind)
        || CASE WHEN reason IS NULL THEN '' ELSE ' (' || md(reason) || ')' END || '.'
    FROM failures
    WHERE n >= 3
)
SELECT line
FROM lines
QUALIFY row_number() OVER (PARTITION BY place ORDER BY size DESC, line) <= 3
ORDER BY place, size DESC, line;
