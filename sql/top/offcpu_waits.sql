-- Off-CPU time by group (group_of), state, stack and length. The tables of off-CPU time are made from it. Kernel stacks
-- count only for threads without a user stack, because every kernel stack has the leaf `schedule`. Lengths are in classes,
-- sixteen to each power of two, which keeps the table small: a quantile from it is right to 3 %. In a recording with a
-- minimum, the gaps are sums of intervals and have no length.
CREATE OR REPLACE TEMP TABLE offcpu_waits AS
SELECT
    group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS group_name,
    coalesce(ustack_id, kstack_id) AS stack_id, coalesce(state, 'unknown') AS state,
    CASE WHEN state IS DISTINCT FROM 'gaps' THEN floor(16 * log2(greatest(offcpu_ns, 1)))::SMALLINT END AS length_class,
    count(*) AS count, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns, max(offcpu_ns) AS max_ns
FROM offcpu
WHERE ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
