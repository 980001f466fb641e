-- The kinds of events that the page has something of. A thread may wait in the whole range that is
-- selected, without an event.
SELECT DISTINCT kind
FROM page.totals
WHERE kind NOT IN ('lost', 'rate')
UNION
SELECT 'switch'
WHERE has_selected_range() AND EXISTS (FROM page.waits);
