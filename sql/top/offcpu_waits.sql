-- Off-CPU time by whom (who.sql), state, stack and length, the base of the tables of off-CPU time. Kernel frames count only
-- for threads without a user stack: the leaf of every kernel stack is `schedule`. Lengths are in classes, sixteen to each
-- power of two, so that the table stays small: a quantile from it is right to 3 %. The gaps of a recording with a minimum
-- are sums of intervals, so they have no length.
CREATE OR REPLACE TEMP TABLE offcpu_waits AS
SELECT
    who_of(command, thread, tgid, pid, cgroup, trace_name, host) AS who,
    coalesce(ustack_id, kstack_id) AS stack_id, coalesce(state, 'unknown') AS state,
    CASE WHEN state IS DISTINCT FROM 'gaps' THEN floor(16 * log2(greatest(offcpu_ns, 1)))::SMALLINT END AS length_class,
    count(*) AS count, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns, max(offcpu_ns) AS max_ns
FROM offcpu
WHERE ('?buildid' IS NULL OR buildid = unhex('?buildid'))
GROUP BY ALL;
