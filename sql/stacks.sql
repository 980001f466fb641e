-- The tables of a recording, for any DuckDB shell (1.5 or later):
--
--     D SET VARIABLE recording = '/var/lib/stacks/7';
--     D .read sql/stacks.sql
--     D SELECT command, kind, count(*) FROM stacks GROUP BY ALL ORDER BY 3 DESC;
--
-- `recording` is a folder with events-*.parquet and stacktraces-*.parquet, or a glob of such folders; the
-- current directory when it is not set. It can be set anew at any time. stacksexport sets `events_files` and
-- `stacktraces_files`, the lists of files, instead.
--
--   events       one row per event
--   stacktraces  one row per distinct stack: stack_id, frames (leaf first)
--   stacks       events with ustack and kstack, the frames of ustack_id and kstack_id; an empty list where there is none
--   offcpu       one row per interval that a thread spent off the CPU
--
-- Frames are long. A query over many events is fastest when it groups events by ustack_id and kstack_id first,
-- and fetches frames for what is left; sql/pprof/ does so.

CREATE OR REPLACE VIEW events AS
SELECT *
FROM read_parquet(
    coalesce(getvariable('events_files'), [coalesce(getvariable('recording'), '.') || '/events-*.parquet']),
    union_by_name => true);

-- Each batch has all stacks that its own events refer to, so most stacks are in many batches.
CREATE OR REPLACE VIEW stacktraces AS
SELECT stack_id, any_value(frames) AS frames
FROM read_parquet(
    coalesce(getvariable('stacktraces_files'), [coalesce(getvariable('recording'), '.') || '/stacktraces-*.parquet']),
    union_by_name => true)
GROUP BY stack_id;

CREATE OR REPLACE VIEW stacks AS
SELECT e.*, coalesce(u.frames, []) AS ustack, coalesce(k.frames, []) AS kstack
FROM events e
LEFT JOIN stacktraces u ON u.stack_id = e.ustack_id
LEFT JOIN stacktraces k ON k.stack_id = e.kstack_id;

-- Off-CPU time lies between two slices of a thread: from the end of one (its stack is where the thread waited, its
-- state says how it left) to the start of the next. `offcpu_ns` = `blocked_ns` + `runnable_ns`; the runnable part is
-- when the thread could run and no CPU took it. Where the recording had a minimum (switch::10ms), the shorter
-- intervals inside a slice are a row of their own, of the slice that they are in, with state 'gaps' and without a
-- stack; the slice's runnable time is counted as theirs first. A dead thread and the end of the recording begin no
-- interval.
CREATE OR REPLACE VIEW offcpu AS
WITH slices AS (
    SELECT
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, ustack_id, kstack_id, unwind, state,
        lead(timestamp - duration) OVER next_slice AS next_start,
        lead(runnable - least(runnable, coalesce(gaps, 0))) OVER next_slice AS waited_ns
    FROM events
    WHERE kind = 'switch'
    WINDOW next_slice AS (PARTITION BY host, pid ORDER BY timestamp)
), intervals AS (
    SELECT
        * EXCLUDE (next_start, waited_ns),
        greatest(next_start - timestamp, 0) AS offcpu_ns,
        -- Who was preempted could run all the time.
        least(offcpu_ns, coalesce(waited_ns, CASE WHEN state = 'preempted' THEN offcpu_ns ELSE 0 END)) AS runnable_ns
    FROM slices
    WHERE next_start IS NOT NULL AND coalesce(state, '') NOT IN ('dead', 'running', 'waiting')
    UNION ALL
    SELECT
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, NULL, NULL, NULL, 'gaps',
        gaps, least(gaps, coalesce(runnable, 0))
    FROM events
    WHERE kind = 'switch' AND gaps > 0
)
SELECT *, offcpu_ns - runnable_ns AS blocked_ns
FROM intervals;
