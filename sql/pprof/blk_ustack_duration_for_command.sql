-- Which code of a command keeps the disks busy, and for how long?
--     stacksexport pprof sql/pprof/blk_ustack_duration_for_command.sql -c COMMAND
-- count: requests. duration: from start to completion; several requests at a time add up, and nobody need wait for
-- them: offcpu_stacks says who does. The stack is the user's, or the kernel's where there is none.
WITH requests AS (
    SELECT
        coalesce(ustack_id, kstack_id) AS stack_id,
        sum(coalesce(weight, 1))::BIGINT AS count,
        sum(duration * coalesce(weight, 1))::BIGINT AS duration
    FROM events
    WHERE kind IN ('blk_read', 'blk_write', 'blk_flush', 'blk_discard') AND command = '?command'
    GROUP BY ALL
)
SELECT frames AS stack, count, duration
FROM requests
LEFT JOIN stacktraces USING (stack_id);
