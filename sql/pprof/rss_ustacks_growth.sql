-- By how much does the memory of a process grow in each function?
--     stacksexport pprof sql/pprof/rss_ustacks_growth.sql [-c COMMAND] [-b PROGRAM]
-- count: changes. growth: net bytes of memory (files, anonymous, shared, swapped): added memory less freed memory. A stack
-- that only frees memory is negative; all stacks add up to the growth of the process. The stack is that of the code that
-- touched the pages, which is not always the code that allocated them: pages that the allocator uses again do not count.
-- The first row of each process is the start; earlier memory is unknown. If 1 of N changes is recorded, the growth of a
-- row is that of all changes since the previous row. The stack is the user stack, or the kernel stack if there is none.
-- rss_ustacks_touched.sql does not subtract freed memory.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS growth
FROM rss
WHERE growth != 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id)
HAVING sum(growth) != 0;
