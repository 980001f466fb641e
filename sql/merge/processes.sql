-- The processes of one part of a fleet folder: the newest of the rows of merge_files that differ only in their time.
SELECT max(timestamp) AS timestamp, * EXCLUDE (timestamp)
FROM (
    SELECT
        NULL::BIGINT AS timestamp, NULL::INTEGER AS tgid, NULL::BIGINT AS start, NULL::INTEGER AS parent,
        NULL::VARCHAR AS command_line, NULL::VARCHAR AS executable, NULL::VARCHAR AS cgroup, NULL::INTEGER AS uid,
        NULL::VARCHAR AS user, NULL::VARCHAR AS host, NULL::VARCHAR AS container_name
    WHERE false
    UNION ALL BY NAME
    FROM read_parquet(getvariable('merge_files'), hive_partitioning => false))
GROUP BY ALL
ORDER BY host, tgid, start, timestamp
