-- Which hosts spend their CPU time differently from the others that run the same commands?
-- percent: the command's part of the host's CPU time; peers_percent: the mean of the other hosts with this command. At least
-- three hosts must have it.
WITH uses AS (
    SELECT host, command, sum(duration * coalesce(weight, 1)) AS used_ns
    FROM events
    WHERE kind = 'profile'
    GROUP BY host, command
), totals AS (
    SELECT host, sum(used_ns) AS host_ns
    FROM uses
    GROUP BY host
), parts AS (
    SELECT u.host AS host, u.command AS command, 1e2 * u.used_ns / t.host_ns AS part
    FROM uses u
    JOIN totals t ON t.host = u.host
), sums AS (
    SELECT command, sum(part) AS part_sum, count(*) AS host_cnt
    FROM parts
    GROUP BY command
)
SELECT
    p.command, p.host, p.part AS percent, (s.part_sum - p.part) / (s.host_cnt - 1) AS peers_percent,
    p.part - (s.part_sum - p.part) / (s.host_cnt - 1) AS difference, s.host_cnt AS hosts
FROM parts p
JOIN sums s ON s.command = p.command
WHERE s.host_cnt >= 3
ORDER BY abs(p.part - (s.part_sum - p.part) / (s.host_cnt - 1)) DESC, p.command, p.host
LIMIT 100
