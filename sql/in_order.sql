-- If the rows of a recording are in the order of time, stacksexport finds the row that follows each row in one pass of
-- following(), without a sort. The rows are those of the views of sql/stacks.sql that these views replace.
CREATE OR REPLACE VIEW slices AS
SELECT * EXCLUDE (key, moment, begin, is_mark, is_end)
FROM following($$
    SELECT
        hash(host, pid) AS key, timestamp AS moment, timestamp - duration AS begin, false AS is_mark,
        coalesce(state, '') IN ('dead', 'running', 'waiting') AS is_end,
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        ustack_id, kstack_id, unwind, state,
        timestamp - duration AS next_begin, runnable - least(runnable, coalesce(gaps, 0)) AS next_waited
    FROM all_events
    WHERE kind = 'switch'
$$, len(getvariable('events_files')))
WHERE next_begin IS NOT NULL;

CREATE OR REPLACE VIEW woken_slices AS
SELECT * EXCLUDE (key, moment, begin, is_mark, is_end)
FROM following($$
    SELECT
        hash(host, CASE WHEN kind = 'wake' THEN target ELSE pid END) AS key, timestamp AS moment,
        timestamp - duration AS begin, kind = 'wake' AS is_mark,
        kind = 'switch' AND coalesce(state, '') IN ('dead', 'running', 'waiting') AS is_end,
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        ustack_id, kstack_id, unwind, state,
        timestamp - duration AS next_begin, runnable - least(runnable, coalesce(gaps, 0)) AS next_waited,
        timestamp AS mark_timestamp, command AS mark_command, thread AS mark_thread, tgid AS mark_tgid, pid AS mark_pid,
        buildid AS mark_buildid, ustack_id AS mark_ustack_id, kstack_id AS mark_kstack_id
    FROM all_events
    WHERE kind IN ('switch', 'wake')
$$, len(getvariable('events_files')))
WHERE next_begin IS NOT NULL;

CREATE OR REPLACE VIEW span_exits AS
SELECT * EXCLUDE (key, moment, begin, is_mark, is_end)
FROM following($$
    SELECT
        hash(host, tgid, span_id) AS key, timestamp AS moment,
        timestamp - CASE kind WHEN 'trace_close' THEN 0 ELSE duration END AS begin, false AS is_mark,
        kind = 'trace_close' AS is_end,
        timestamp, duration, kind, cpu, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, id, amount,
        trace_name, ustack_id, kstack_id, unwind,
        kind = 'trace_close' AS next_is_close,
        timestamp - CASE kind WHEN 'trace_close' THEN 0 ELSE duration END AS next_begin
    FROM all_events
    WHERE starts_with(kind, 'trace_')
$$, len(getvariable('events_files')));
