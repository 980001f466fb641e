-- By how much does the memory of a process grow in each function?
--     stacksexport pprof sql/pprof/rss_ustacks_growth.sql [-c COMMAND] [-b PROGRAM]
-- count: changes. growth: net bytes of memory (files, anonymous, shared, swapped): what the code touched for the first
-- time less what it gave back, so that a stack which only gives back is negative and all stacks add up to the growth of
-- the process. The stack is that of the code that touched the pages, which is not always the code that allocated them:
-- pages that the allocator uses again do not count. The first row of each process does not count either, as what it had
-- before is not known. Where 1 of N changes is kept, a row's growth is that of all since the row before. The stack is the
-- user's, or the kernel's where there is none. rss_ustacks_touched.sql leaves out what was given back.
SELECT [coalesce(ustack_id, kstack_id)] AS stack, count(*) AS count, sum(growth) AS growth
FROM rss
WHERE growth != 0
    AND ('?command' IS NULL OR command = '?command')
    AND ('?buildid' IS NULL OR buildid = decode('?buildid', 'hex'))
GROUP BY coalesce(ustack_id, kstack_id)
HAVING sum(growth) != 0;
