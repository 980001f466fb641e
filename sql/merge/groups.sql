-- How many rows the inputs of a part have by what they are sorted by: command, host, and slots of time of 10 seconds. The
-- part is written in ranges of these that fit into memory. The union gives inputs that lack the column a host.
SELECT
    command, coalesce(host, '') AS host, timestamp // 10000000000 * 10000000000 AS slot_ns, count(*) AS row_cnt
FROM (
    SELECT NULL::VARCHAR AS host
    WHERE false
    UNION ALL BY NAME
    FROM read_parquet(getvariable('merge_files'), hive_partitioning => false))
WHERE timestamp >= getvariable('merge_from') AND timestamp < getvariable('merge_to')
GROUP BY ALL
ORDER BY ALL;
