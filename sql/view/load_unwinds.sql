-- Adds how the user stacks of the recording end to page.unwinds.
INSERT INTO page.unwinds
SELECT coalesce(unwind, 'unknown'), count(*)
FROM events
WHERE ustack_id IS NOT NULL
GROUP BY ALL;
