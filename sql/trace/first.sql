-- `stacksexport trace`: how many events can be drawn, how many cannot, and the start of the first: the zero of the
-- trace.
SELECT
    count(*) FILTER (problem IS NULL) AS drawn,
    count(*) FILTER (problem IS NOT NULL) AS left_out,
    min(begin_ns) FILTER (problem IS NULL) AS first_ns
FROM trace_events;
