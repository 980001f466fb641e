-- The rows of one part of a fleet folder: those of the view merge_rows (mergeranges.c). The union with a row that has all
-- columns makes those null that the recordings lack, so that all parts have the same columns.
SELECT * REPLACE (
    signed_id(span_id) AS span_id, signed_id(parent_id) AS parent_id, signed_id(id) AS id,
    signed_id(ustack_id) AS ustack_id, signed_id(kstack_id) AS kstack_id, signed_id(address) AS address)
FROM (
    SELECT
        NULL::BIGINT AS timestamp, NULL::BIGINT AS duration, NULL::VARCHAR AS kind, NULL::INTEGER AS cpu,
        NULL::INTEGER AS tgid, NULL::INTEGER AS pid, NULL::UBIGINT AS span_id, NULL::UBIGINT AS parent_id,
        NULL::UBIGINT AS id, NULL::BIGINT AS amount, NULL::VARCHAR AS command, NULL::VARCHAR AS trace_name,
        NULL::BLOB AS buildid, NULL::VARCHAR AS thread, NULL::UBIGINT AS ustack_id, NULL::UBIGINT AS kstack_id,
        NULL::VARCHAR AS unwind, NULL::VARCHAR AS state, NULL::BIGINT AS runnable, NULL::BIGINT AS gaps,
        NULL::INTEGER AS target, NULL::VARCHAR AS device, NULL::VARCHAR AS file, NULL::VARCHAR AS fs, NULL::VARCHAR AS local,
        NULL::VARCHAR AS peer, NULL::UBIGINT AS address, NULL::VARCHAR AS cgroup, NULL::VARCHAR AS host,
        NULL::INTEGER AS weight, NULL::VARCHAR AS lost_kind, NULL::VARCHAR AS reason, NULL::VARCHAR AS path,
        NULL::VARCHAR AS probe, NULL::VARCHAR AS args
    WHERE false
    UNION ALL BY NAME
    FROM merge_rows)
