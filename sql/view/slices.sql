-- The slices of threads as numbers, and each with the one that follows it: slices_of() of sql/stacks.sql.
CREATE OR REPLACE VIEW page.slices AS
SELECT
    hash(host, pid) AS key, timestamp, timestamp - duration AS begin, page.state_code(state) AS state,
    coalesce(state, '') IN ('dead', 'running', 'waiting') AS is_end, runnable, gaps,
    -- Null of what is not selected: slices are paired in the whole recording.
    CASE WHEN is_selected(command, thread, tgid, pid, cgroup, trace_name, host, span_id)
        THEN page.thread_key(host, cgroup, command, thread, tgid, pid, page.span_of(span_id, trace_name))
    END AS thread_key,
    ustack_id, kstack_id
FROM all_events
WHERE kind = 'switch';

CREATE OR REPLACE VIEW page.paired_slices AS
SELECT
    *, lead(begin) OVER next_slice AS next_begin,
    lead(runnable - least(runnable, coalesce(gaps, 0))) OVER next_slice AS next_waited
FROM page.slices
WINDOW next_slice AS (PARTITION BY key ORDER BY timestamp)
QUALIFY NOT is_end;
