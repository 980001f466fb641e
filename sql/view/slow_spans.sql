-- The slowest spans of each name, and where their thread waited meanwhile.
WITH ended AS (
    SELECT who, span AS name, host, thread, tgid, pid, moment - value AS begins, moment AS ends, value AS ns
    FROM page.samples
    JOIN page.threads USING (who)
    JOIN page.chosen(NULL, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
    WHERE metric = 7 AND moment >= $from::BIGINT AND moment < $to::BIGINT AND ($name IS NULL OR span = $name::VARCHAR)
), slowest AS (
    SELECT *, row_number() OVER (ORDER BY ns DESC, begins, pid) AS number
    FROM (
        FROM ended
        QUALIFY row_number() OVER (PARTITION BY name ORDER BY ns DESC, begins, pid)
            <= CASE WHEN $name IS NULL THEN 10 ELSE 20 END)
    ORDER BY number
    LIMIT 200
), of_thread AS (
    SELECT number, s.begins AS span_begins, s.ends AS span_ends, t.who
    FROM slowest s
    JOIN page.threads t ON t.pid = s.pid AND t.tgid = s.tgid AND t.host IS NOT DISTINCT FROM s.host
), waits AS (
    SELECT
        number, greatest(w.begins, span_begins) AS begins, least(w.ends, span_ends) AS ends,
        page.state_name(w.state)::VARCHAR AS state, page.stack_text(ustack_id, kstack_id) AS stack
    FROM of_thread s
    JOIN page.waits w ON w.who = s.who AND w.begins < span_ends AND w.ends > span_begins
    WHERE w.ends > w.begins
), waited AS (
    SELECT
        number, sum(ends - begins) AS ns,
        list({'start': begins - $begins::BIGINT, 'duration': ends - begins, 'state': state, 'stack': stack}
            ORDER BY ends - begins DESC)[:200] AS waits
    FROM waits
    GROUP BY number
)
SELECT
    number AS id, name, thread, pid, s.begins - $begins::BIGINT AS start, s.ns AS duration,
    greatest(s.ns - coalesce(w.ns, 0), 0) AS oncpu, coalesce(w.waits, []) AS waits
FROM slowest s
LEFT JOIN waited w USING (number)
ORDER BY number;
