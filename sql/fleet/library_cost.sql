-- What does each library cost, over all programs that use it?
-- self_ns: code of the library was running; total_ns: it or what it called. programs, hosts: how many run it.
WITH samples AS (
    SELECT host, command, ustack_id, kstack_id, sum(duration * coalesce(weight, 1)) AS sample_ns
    FROM events
    WHERE kind = 'profile'
    GROUP BY host, command, ustack_id, kstack_id
), halves AS (
    SELECT
        host, command, ustack_id AS stack_id, CASE WHEN kstack_id IS NULL THEN sample_ns ELSE 0 END AS leaf_ns,
        sample_ns AS half_ns
    FROM samples
    WHERE ustack_id IS NOT NULL
    UNION ALL
    SELECT host, command, kstack_id AS stack_id, sample_ns AS leaf_ns, sample_ns AS half_ns
    FROM samples
    WHERE kstack_id IS NOT NULL
), modules AS (
    SELECT stack_id, module, min(position) AS nearest
    FROM frames
    GROUP BY stack_id, module
)
SELECT
    m.module,
    sum(CASE WHEN m.nearest = 0 THEN h.leaf_ns ELSE 0 END) AS self_ns,
    sum(h.half_ns) AS total_ns,
    count(DISTINCT h.command) AS programs,
    count(DISTINCT h.host) AS hosts
FROM halves h
JOIN modules m ON m.stack_id = h.stack_id
GROUP BY m.module
ORDER BY total_ns DESC, self_ns DESC, module
LIMIT 100
