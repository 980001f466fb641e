-- Which code makes memory grow?
--     stacksexport pprof sql/pprof/rss_ustacks_growth.sql [-c COMMAND] [-b PROGRAM]
-- count: times that it grew. growth: bytes of the process's memory (files, anonymous, shared, swapped) that were added
-- in this code; what was given back is not subtracted. It counts from the first row of each process on; what it had
-- before is not known. Where 1 of N changes is kept, a row's growth is that of all since the row before. The stack is
-- the user's, or the kernel's where there is none.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS growth
FROM rss
WHERE growth > 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id);
