-- How many events were lost while a recording was made; lost notices of processes are none.
SELECT coalesce(sum(amount), 0) AS lost
FROM events
WHERE kind = 'lost' AND lost_kind IS DISTINCT FROM 'process';
