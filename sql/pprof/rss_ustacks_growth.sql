-- Which code makes memory grow?
--     stacksexport pprof sql/pprof/rss_ustacks_growth.sql [-c COMMAND] [-b PROGRAM]
-- count: how often memory grew. growth: bytes of memory (files, anonymous, shared, swapped) that this code added to its
-- process; freed memory is not subtracted. The first row of each process is the start; earlier memory is unknown. If 1
-- of N changes is recorded, the growth of a row is that of all changes since the previous row. The stack is the user
-- stack, or the kernel stack if there is none.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS growth
FROM rss
WHERE growth > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
