-- What does each function cost: CPU time, waiting, disks, network and memory, side by side?
--     stacksexport query -f sql/tables/time_by_stack.sql [-c COMMAND] [-b PROGRAM]
-- Seconds, summed over all threads, and bytes. A function includes everything that it calls; a recursive function counts
-- once. self_s: CPU, blocked and runnable time with the function itself on top of the user stack. disk_s: duration of the
-- requests that the function made. net_s: time in calls that send, receive or connect. These two overlap with blocked_s,
-- or with nothing. rss_growth: net growth of memory, negative if more was freed than added. rss_touched: new pages that
-- the function touched; freed memory is not subtracted. The functions are those of the user stack, or of the kernel stack
-- if there is none. A column is 0 if the recording does not have its source.
WITH costs AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id,
        sum(duration::HUGEINT * coalesce(weight, 1)) FILTER (kind = 'profile') AS cpu,
        sum(duration::HUGEINT * coalesce(weight, 1))
            FILTER (kind IN ('blk_read', 'blk_write', 'blk_flush', 'blk_discard')) AS disk,
        sum(duration::HUGEINT * coalesce(weight, 1))
            FILTER (kind IN ('tcp_send', 'tcp_recv', 'udp_send', 'udp_recv', 'unix_send', 'unix_recv', 'tcp_connect'))
            AS net,
        0 AS blocked, 0 AS runnable, 0 AS growth, 0 AS touched
    FROM events
    WHERE kind NOT IN ('switch', 'wake', 'lost', 'rate')
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
    UNION ALL
    SELECT coalesce(ustack_id, kstack_id), 0, 0, 0, sum(blocked_ns), sum(runnable_ns), 0, 0
    FROM offcpu
    WHERE state != 'idle' -- kernel threads that wait for work
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
    UNION ALL
    SELECT coalesce(ustack_id, kstack_id), 0, 0, 0, 0, 0, sum(growth),
        coalesce(sum(growth) FILTER (growth > 0), 0)
    FROM rss
    WHERE growth != 0
        AND ('?command' IS NULL OR command = '?command') AND ('?buildid' IS NULL OR buildid = unhex('?buildid'))
    GROUP BY ALL
), sums AS (
    SELECT
        stack_id, sum(cpu) AS cpu, sum(blocked) AS blocked, sum(runnable) AS runnable, sum(disk) AS disk, sum(net) AS net,
        sum(growth) AS growth, sum(touched) AS touched
    FROM costs
    GROUP BY stack_id
), functions AS MATERIALIZED (
    SELECT
        stack_id,
        list_transform(frames, lambda f: function_of(f)) AS functions
    FROM stacktraces
    WHERE stack_id IN (SELECT stack_id FROM sums)
), shares AS (
    SELECT unnest(list_distinct(functions)) AS function, cpu, blocked, runnable, disk, net, growth, touched, 0 AS self
    FROM sums
    JOIN functions USING (stack_id)
    UNION ALL
    SELECT functions[1], 0, 0, 0, 0, 0, 0, 0, coalesce(cpu, 0) + blocked + runnable
    FROM sums
    JOIN functions USING (stack_id)
    UNION ALL
    SELECT
        {'name': '[no stack]', 'module': ''}, cpu, blocked, runnable, disk, net, growth, touched,
        coalesce(cpu, 0) + blocked + runnable
    FROM sums
    WHERE stack_id IS NULL
)
SELECT
    function.name AS function,
    function.module AS module,
    coalesce(sum(cpu) / 1e9, 0)::DECIMAL(18, 3) AS cpu_s,
    (sum(blocked) / 1e9)::DECIMAL(18, 3) AS blocked_s,
    (sum(runnable) / 1e9)::DECIMAL(18, 3) AS runnable_s,
    (sum(self) / 1e9)::DECIMAL(18, 3) AS self_s,
    coalesce(sum(disk) / 1e9, 0)::DECIMAL(18, 3) AS disk_s,
    coalesce(sum(net) / 1e9, 0)::DECIMAL(18, 3) AS net_s,
    sum(growth)::BIGINT AS rss_growth,
    sum(touched)::BIGINT AS rss_touched
FROM shares
GROUP BY function
HAVING
    coalesce(sum(cpu), 0) + sum(blocked) + sum(runnable) + coalesce(sum(disk), 0) + coalesce(sum(net), 0) + sum(touched) > 0
ORDER BY coalesce(sum(cpu), 0) + sum(blocked) + sum(runnable) DESC, sum(self) DESC, rss_growth DESC, function, module
LIMIT 100;
