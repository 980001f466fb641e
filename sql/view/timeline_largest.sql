-- The children of the CPU lane: those with the most time.
SELECT label, any_value(text) AS text, sum(value)::DOUBLE AS value
FROM page.samples
JOIN page.chosen($root, $command, $tgid, $pid, $thread, $span, $cgroup, $host) USING (who)
WHERE metric = 1 AND moment >= $from::BIGINT AND moment < $to::BIGINT
GROUP BY label
ORDER BY value DESC, text
LIMIT 12;
