-- How many events were lost in the selected range of a recording; without lost records of processes.
SELECT coalesce(sum(amount), 0) AS lost
FROM all_events
WHERE kind = 'lost' AND in_selected_range(timestamp) AND lost_kind IS DISTINCT FROM 'process';
