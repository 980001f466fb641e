-- The parts of a request for SQL, which is JSON.
SELECT
    json_extract_string($body::JSON, '$.sql') AS sql, json_extract_string($body::JSON, '$.parameters.command') AS command,
    json_extract_string($body::JSON, '$.parameters.buildid') AS buildid,
    TRY_CAST(json_extract_string($body::JSON, '$.limit') AS BIGINT) AS row_limit;
