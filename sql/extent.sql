-- When a recording begins and ends: what --from and --to may be relative to. A process that ends has lived longer than the
-- recording (exit).
SELECT min(timestamp - duration) FILTER (kind != 'exit') AS start_ns, max(timestamp) AS end_ns
FROM all_events;
