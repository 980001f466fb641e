-- The tables that the questions of sql/fleet/ read, in a catalog of Trino with the connector hive (docs/fleet.md).
-- @FLEET@ is the fleet folder.
CREATE SCHEMA IF NOT EXISTS default;

-- The name that the other engines have for it.
CREATE OR REPLACE FUNCTION hex(bytes VARBINARY) RETURNS VARCHAR RETURN to_hex(bytes);

DROP TABLE IF EXISTS events;

CREATE TABLE events (
    timestamp BIGINT, duration BIGINT, kind VARCHAR, cpu INTEGER, tgid INTEGER, pid INTEGER, span_id BIGINT,
    parent_id BIGINT, id BIGINT, amount BIGINT, command VARCHAR, trace_name VARCHAR, buildid VARBINARY, thread VARCHAR,
    ustack_id BIGINT, kstack_id BIGINT, unwind VARCHAR, state VARCHAR, runnable BIGINT, gaps BIGINT, target INTEGER,
    device VARCHAR, file VARCHAR, fs VARCHAR, local VARCHAR, peer VARCHAR, address BIGINT, cgroup VARCHAR, host VARCHAR,
    weight INTEGER, lost_kind VARCHAR, reason VARCHAR, path VARCHAR, probe VARCHAR, args VARCHAR, day DATE, hour VARCHAR
) WITH (external_location = 'local://@FLEET@/events', format = 'PARQUET', partitioned_by = ARRAY['day', 'hour']);

DROP TABLE IF EXISTS stack_rows;

CREATE TABLE stack_rows (
    stack_id BIGINT,
    frames ARRAY(ROW(
        name VARCHAR, address BIGINT, "offset" BIGINT, module VARCHAR, build_id VARCHAR, file_offset BIGINT, mark VARCHAR,
        line INTEGER, file VARCHAR)),
    day DATE
) WITH (external_location = 'local://@FLEET@/stacks', format = 'PARQUET', partitioned_by = ARRAY['day']);

-- Finds the folders of the days and hours. After the next merge, call these two again.
CALL system.sync_partition_metadata('default', 'events', 'FULL');

CALL system.sync_partition_metadata('default', 'stack_rows', 'FULL');

-- A stack is in the file of each day that has it; one of them counts.
CREATE OR REPLACE VIEW stacks AS
SELECT stack_id, any_value(frames) AS frames
FROM stack_rows
GROUP BY stack_id;

-- One row per stack and frame; the leaf has position 0.
CREATE OR REPLACE VIEW frames AS
SELECT s.stack_id AS stack_id, f.place - 1 AS position, f.name AS name, f.module AS module, f.build_id AS build_id
FROM stacks s
CROSS JOIN
    UNNEST(s.frames) WITH ORDINALITY AS f (name, address, "offset", module, build_id, file_offset, mark, line, file, place);
