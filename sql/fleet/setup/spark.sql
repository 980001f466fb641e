-- The tables that the questions of sql/fleet/ read, in Spark. @FLEET@ is the fleet folder.
CREATE OR REPLACE TEMPORARY VIEW events USING parquet OPTIONS (path '@FLEET@/events');

CREATE OR REPLACE TEMPORARY VIEW stack_rows USING parquet OPTIONS (path '@FLEET@/stacks');

-- A stack is in the file of each day that has it; one of them counts.
CREATE OR REPLACE TEMPORARY VIEW stacks AS
SELECT stack_id, first(frames) AS frames
FROM stack_rows
GROUP BY stack_id;

-- One row per stack and frame; the leaf has position 0.
CREATE OR REPLACE TEMPORARY VIEW frames AS
SELECT stack_id, place AS position, frame.name AS name, frame.module AS module, frame.build_id AS build_id
FROM (SELECT stack_id, posexplode(frames) AS (place, frame) FROM stacks);
