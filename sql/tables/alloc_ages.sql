-- How old do blocks of memory become before they are freed?
--     stacksexport query -f sql/tables/alloc_ages.sql [-c COMMAND] [-b PROGRAM]
-- One row per power of ten of the age. up_to_s: the upper limit in seconds; null: never freed while recorded. Blocks and
-- bytes are estimated from samples.
SELECT
    CASE WHEN f.id IS NOT NULL THEN 10.0 ** ceil(log10(greatest(f.duration, 1000) / 1e9)) END AS up_to_s,
    sum(a.weight) AS blocks,
    sum(a.amount) AS bytes
FROM events a
LEFT JOIN events f ON f.kind = 'free' AND f.id = a.id AND f.host IS NOT DISTINCT FROM a.host
WHERE a.kind = 'alloc'
    AND ('?command' IS NULL OR a.command = '?command') AND ('?buildid' IS NULL OR a.buildid = unhex('?buildid'))
GROUP BY up_to_s
ORDER BY up_to_s NULLS LAST;
