-- Off-CPU time by command, state and stack, the base of the tables of off-CPU time. Kernel frames count only for
-- threads without a user stack: the leaf of every kernel stack is `schedule`.
CREATE OR REPLACE TEMP TABLE offcpu_waits AS
SELECT
    command, coalesce(ustack_id, kstack_id) AS stack_id, coalesce(state, 'unknown') AS state,
    count(*) AS count, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns
FROM offcpu
WHERE ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
