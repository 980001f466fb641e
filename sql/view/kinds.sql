-- How many events there are of each kind, and what they add up to.
SELECT kind, sum(events) AS rows, sum(weight) AS weight, sum(duration) AS duration, sum(amount) AS amount
FROM page.totals
WHERE kind NOT IN ('lost', 'rate')
GROUP BY kind
ORDER BY rows DESC, kind;
