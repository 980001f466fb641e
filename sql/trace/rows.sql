-- `stacksexport trace`, after each query: its rows, which are in trace_input, become events. Integers are HUGEINT, so
-- that nothing overflows before it is checked; microseconds become nanoseconds.
INSERT INTO trace_events
WITH timed AS (
    SELECT
        *,
        coalesce(duration, timestamp - start) AS length,
        CASE WHEN event = 'complete' THEN coalesce(start, timestamp - duration)
            ELSE coalesce(timestamp, start) END AS begins,
        CASE WHEN event = 'complete' THEN begins + length ELSE begins END AS ends
    FROM trace_input
), checked AS (
    SELECT
        *,
        CASE
            WHEN event IS NULL
                OR event NOT IN ('complete', 'counter', 'instant')
                    AND NOT (event = 'sample' AND coalesce(getvariable('trace_takes_samples'), false))
                THEN 'event has to be complete, counter or instant'
            WHEN pid IS NULL OR pid NOT BETWEEN 0 AND 2147483647 OR tid NOT BETWEEN 0 AND 2147483647
                THEN 'pid or tid is no number of a process or thread'
            WHEN begins IS NULL OR ends IS NULL
                THEN 'no time: a complete event needs two of start, timestamp (its end) and duration, others a timestamp'
            WHEN length < 0 AND event = 'complete'
                THEN 'a negative duration'
            WHEN greatest(abs(begins), abs(ends)) >= 9223372036854775807
                THEN 'a time beyond the year 2262: start, timestamp and duration are microseconds, are these nanoseconds?'
            WHEN greatest(abs(amount), abs(rate)) > 9223372036854775807
                THEN 'an amount or rate of more than 63 bits'
            WHEN event = 'counter' AND amount IS NULL AND rate IS NULL
                THEN 'a counter without amount and rate'
        END AS problem
    FROM timed
)
SELECT
    query, event, coalesce(name, '[no name]'), kind,
    TRY_CAST(pid AS INTEGER), TRY_CAST(coalesce(nullif(tid, 0), pid) AS INTEGER), TRY_CAST(cpu AS BIGINT),
    TRY_CAST(amount AS BIGINT), TRY_CAST(rate AS BIGINT), TRY_CAST(begins AS BIGINT), TRY_CAST(ends AS BIGINT),
    CASE WHEN len(stack) > 0 THEN hash(stack) END, CASE WHEN len(end_stack) > 0 THEN hash(end_stack) END, args, problem
FROM checked;
