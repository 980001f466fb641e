-- Off-CPU time, with the waits for work apart. Time in which a thread could run but waited for a CPU is never a wait for
-- work.
CREATE OR REPLACE MACRO waits_for_work(is_idle, state) AS coalesce(is_idle AND state = 'sleeping', false);

CREATE OR REPLACE TEMP TABLE sorted_waits AS
WITH of_stacks AS (
    SELECT
        group_name, stack_id, state, sum(count) AS count, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns,
        max(max_ns) AS max_ns
    FROM offcpu_waits
    WHERE state != 'idle'
    GROUP BY ALL
)
SELECT
    w.* EXCLUDE (blocked_ns), waits_for_work(f.is_idle, state) AS is_for_work,
    CASE WHEN NOT is_for_work THEN blocked_ns ELSE 0 END AS blocked_ns,
    CASE WHEN is_for_work THEN blocked_ns ELSE 0 END AS idle_ns
FROM of_stacks w
LEFT JOIN waiting_functions f USING (stack_id);

CREATE OR REPLACE TEMP TABLE wait_lengths AS
SELECT
    group_name, waits_in AS id, waits_for_work(f.is_idle, state) AS is_for_work, length_class, sum(count) AS count
FROM offcpu_waits
LEFT JOIN waiting_functions f USING (stack_id)
WHERE state != 'idle' AND length_class IS NOT NULL
GROUP BY ALL;

-- Waits by group and function, with the lengths of those for work, or of the others. `waits` is a table with group_name,
-- stack_id, count, max_ns, blocked_ns and runnable_ns. self: the function waited; total: it or a function that it called
-- waited, a recursive function counts once. Intervals without a stack are [no stack]. call: the function that was called to
-- wait, the one with the most time.
CREATE OR REPLACE MACRO functions_of_waits(waits, for_work) AS TABLE
WITH of_stacks AS (
    SELECT
        group_name, stack_id, sum(count) AS count, max(max_ns) AS max_ns, sum(blocked_ns) AS blocked_ns,
        sum(runnable_ns) AS runnable_ns
    FROM query_table(waits)
    GROUP BY ALL
), counted AS (
    SELECT
        *, sum(count) OVER (PARTITION BY group_name, id ORDER BY length_class) AS up_to,
        sum(count) OVER (PARTITION BY group_name, id) AS sum_of_all
    FROM wait_lengths
    WHERE is_for_work = for_work
), quantiles AS (
    -- The middle of a class of lengths.
    SELECT
        group_name, id,
        pow(2, (min(length_class) FILTER (2 * up_to >= sum_of_all) + 0.5) / 16)::BIGINT AS p50_ns,
        pow(2, (min(length_class) FILTER (100 * up_to >= 99 * sum_of_all) + 0.5) / 16)::BIGINT AS p99_ns
    FROM counted
    GROUP BY ALL
), shares AS (
    SELECT
        group_name, waits_in AS id, call, sum(blocked_ns) AS blocked_ns, sum(runnable_ns) AS runnable_ns, 0 AS total_ns,
        sum(count) AS count, max(max_ns) AS max_ns
    FROM of_stacks
    LEFT JOIN waiting_functions USING (stack_id)
    GROUP BY ALL
    UNION ALL
    SELECT group_name, unnest(waiting), NULL, 0, 0, blocked_ns + runnable_ns, 0, 0
    FROM of_stacks
    JOIN waiting_functions USING (stack_id)
), sums AS (
    SELECT
        group_name, id, arg_max(call, blocked_ns + runnable_ns) AS call, sum(blocked_ns) AS blocked_ns,
        sum(runnable_ns) AS runnable_ns, sum(blocked_ns) + sum(runnable_ns) AS self_ns,
        greatest(sum(total_ns), self_ns) AS total_ns, sum(count) AS count, max(max_ns) AS max_ns
    FROM shares
    GROUP BY group_name, id
)
SELECT
    s.*, q.p50_ns, q.p99_ns, coalesce(c.name, '') AS call_name, coalesce(f.module, '') AS module,
    coalesce(f.name, '[no stack]') AS function
FROM sums s
LEFT JOIN quantiles q ON q.group_name = s.group_name AND q.id IS NOT DISTINCT FROM s.id
LEFT JOIN functions f ON f.id = s.id
LEFT JOIN functions c ON c.id = s.call AND s.call IS DISTINCT FROM s.id;
