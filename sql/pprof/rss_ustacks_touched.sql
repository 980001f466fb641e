-- Which code touches new pages?
--     stacksexport pprof sql/pprof/rss_ustacks_touched.sql [-c COMMAND] [-b PROGRAM]
-- count: how often memory grew. touched_bytes: bytes of memory (files, anonymous, shared, swapped) that this code added to
-- its process. Freed memory is not subtracted: code that takes and frees the same memory counts each time. For the net
-- growth see rss_ustacks_growth.sql. If 1 of N changes is recorded, a row stands for all changes since the previous row.
-- The stack is the user stack, or the kernel stack if there is none.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS touched_bytes
FROM rss
WHERE growth > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
