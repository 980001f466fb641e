-- `stacksexport firefox`: when the recording begins and ends, or the selected range of it. A process that ends has lived
-- longer than the recording (exit).
SELECT
    selected_begin(min(timestamp - duration) FILTER (kind != 'exit')) AS begin_ns,
    least(max(timestamp), getvariable('selected_to')) AS end_ns
FROM all_events;
