-- How many events were lost during a recording, without lost records of processes.
SELECT coalesce(sum(amount), 0) AS lost
FROM events
WHERE kind = 'lost' AND lost_kind IS DISTINCT FROM 'process';
