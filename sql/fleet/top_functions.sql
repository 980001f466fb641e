-- Which functions use the most CPU time, on all hosts together?
-- self_ns: the function was running; total_ns: it or what it called, a recursive function once. hosts: on how many.
WITH samples AS (
    SELECT host, ustack_id, kstack_id, sum(duration * coalesce(weight, 1)) AS sample_ns
    FROM events
    WHERE kind = 'profile'
    GROUP BY host, ustack_id, kstack_id
), halves AS (
    SELECT
        host, ustack_id AS stack_id, CASE WHEN kstack_id IS NULL THEN sample_ns ELSE 0 END AS leaf_ns, sample_ns AS half_ns
    FROM samples
    WHERE ustack_id IS NOT NULL
    UNION ALL
    SELECT host, kstack_id AS stack_id, sample_ns AS leaf_ns, sample_ns AS half_ns
    FROM samples
    WHERE kstack_id IS NOT NULL
), functions AS (
    SELECT stack_id, coalesce(name, '') AS function_name, module, min(position) AS nearest
    FROM frames
    GROUP BY stack_id, coalesce(name, ''), module
)
SELECT
    f.function_name, f.module,
    sum(CASE WHEN f.nearest = 0 THEN h.leaf_ns ELSE 0 END) AS self_ns,
    sum(h.half_ns) AS total_ns,
    count(DISTINCT h.host) AS hosts
FROM halves h
JOIN functions f ON f.stack_id = h.stack_id
GROUP BY f.function_name, f.module
ORDER BY self_ns DESC, total_ns DESC, function_name, module
LIMIT 100
