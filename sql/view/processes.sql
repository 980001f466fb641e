-- The processes that did most.
WITH cpu AS (
    SELECT command, tgid, sum(events) AS rows, sum(CASE WHEN kind = 'profile' THEN duration ELSE 0 END) AS cpu_ns
    FROM page.totals
    WHERE kind NOT IN ('lost', 'rate')
    GROUP BY command, tgid
), off AS (
    SELECT command, tgid, sum(ends - begins) AS offcpu_ns
    FROM page.waits
    JOIN page.threads USING (who)
    GROUP BY command, tgid
)
SELECT command, tgid, cpu_ns, coalesce(offcpu_ns, 0) AS offcpu_ns, rows
FROM cpu
LEFT JOIN off USING (command, tgid)
ORDER BY cpu_ns DESC, rows DESC, command, tgid
LIMIT 100;
