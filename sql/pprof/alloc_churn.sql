-- Which code allocates the most, whether it is freed or not?
--     stacksexport pprof sql/pprof/alloc_churn.sql [-c COMMAND] [-b PROGRAM]
-- count: allocations. allocated_bytes: their bytes. Both are estimated from samples: n samples have a relative error of
-- 1/sqrt(n).
SELECT
    [ustack_id] AS stack,
    sum(weight) AS count,
    sum(amount) AS allocated_bytes
FROM events
WHERE kind = 'alloc'
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY ustack_id;
