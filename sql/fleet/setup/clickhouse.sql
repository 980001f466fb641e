-- The tables that the questions of sql/fleet/ read, in ClickHouse. @FLEET@ is the fleet folder.
CREATE OR REPLACE VIEW events AS
SELECT *
FROM file('@FLEET@/events/*/*/*.parquet', Parquet);

-- A stack is in the file of each day that has it; one of them counts.
CREATE OR REPLACE VIEW stacks AS
SELECT stack_id, any(frames) AS frames
FROM file('@FLEET@/stacks/*/*.parquet', Parquet)
GROUP BY stack_id;

-- One row per stack and frame; the leaf has position 0.
CREATE OR REPLACE VIEW frames AS
SELECT
    stack_id, place - 1 AS position, tupleElement(frame, 'name') AS name, tupleElement(frame, 'module') AS module,
    tupleElement(frame, 'build_id') AS build_id
FROM (SELECT stack_id, frames, arrayEnumerate(frames) AS places FROM stacks)
ARRAY JOIN frames AS frame, places AS place;
