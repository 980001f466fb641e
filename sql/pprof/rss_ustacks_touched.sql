-- Which code touches new pages?
--     stacksexport pprof sql/pprof/rss_ustacks_touched.sql [-c COMMAND] [-b PROGRAM]
-- count: times. touched_bytes: memory (files, anonymous, shared, swapped) that was added to the process in this code. What
-- was given back is not subtracted: code that takes and returns the same memory counts each time. For the net growth see
-- rss_ustacks_growth.sql. Where 1 of N changes is kept, a row stands for all since the row before. The stack is the
-- user's, or the kernel's where there is none.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS touched_bytes
FROM rss
WHERE growth > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
