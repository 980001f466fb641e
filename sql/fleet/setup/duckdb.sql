-- The tables that the questions of sql/fleet/ read, in DuckDB. @FLEET@ is the fleet folder.
CREATE OR REPLACE VIEW events AS
FROM read_parquet('@FLEET@/events/*/*/*.parquet', hive_partitioning => true);

-- A stack is in the file of each day that has it; one of them counts.
CREATE OR REPLACE VIEW stacks AS
SELECT stack_id, any_value(frames) AS frames
FROM read_parquet('@FLEET@/stacks/*/*.parquet', hive_partitioning => true)
GROUP BY stack_id;

-- One row per stack and frame; the leaf has position 0.
CREATE OR REPLACE VIEW frames AS
SELECT stack_id, place - 1 AS position, frame.name AS name, frame.module AS module, frame.build_id AS build_id
FROM (SELECT stack_id, unnest(frames) AS frame, generate_subscripts(frames, 1) AS place FROM stacks);
