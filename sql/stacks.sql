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
--   wakeups      offcpu with who ended the interval by waking the thread
--   rss          events of kind rss with the growth of the process's memory
--   span_waits   one row per interval in which a span was open and no thread was in it
--
-- and as_frames(list), label(text) to put frames of one's own onto stacks.
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
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        ustack_id, kstack_id, unwind, state,
        lead(timestamp - duration) OVER next_slice AS next_start,
        lead(runnable - least(runnable, coalesce(gaps, 0))) OVER next_slice AS waited_ns
    FROM (SELECT *, hash(host, pid) AS thread_key FROM events WHERE kind = 'switch') -- one key sorts faster than two
    WINDOW next_slice AS (PARTITION BY thread_key ORDER BY timestamp)
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
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        NULL, NULL, NULL, 'gaps', gaps, least(gaps, coalesce(runnable, 0))
    FROM events
    WHERE kind = 'switch' AND gaps > 0
)
SELECT *, offcpu_ns - runnable_ns AS blocked_ns
FROM intervals;

-- Estimates of how many rows an ASOF join gets are far too low here, and for few rows DuckDB compares each with each.
SET asof_loop_join_threshold = 0;

-- Off-CPU intervals with the last wake-up of the thread in them: when it was, by whom and with which stacks. Null where
-- none was recorded: the thread was preempted, it waits still, or the recording has no kind wake.
CREATE OR REPLACE VIEW wakeups AS
WITH sleeps AS (
    SELECT *, timestamp + offcpu_ns AS ends, hash(host, pid) AS thread_key
    FROM offcpu
), wakes AS (
    SELECT *, hash(host, target) AS thread_key
    FROM events
    WHERE kind = 'wake'
), joined AS (
    SELECT
        s.* EXCLUDE (ends, thread_key),
        coalesce(w.timestamp >= s.timestamp AND s.state != 'gaps', false) AS woken,
        w.timestamp AS waker_timestamp, w.command AS waker_command, w.thread AS waker_thread, w.tgid AS waker_tgid,
        w.pid AS waker_pid, w.buildid AS waker_buildid, w.ustack_id AS waker_ustack_id, w.kstack_id AS waker_kstack_id
    FROM sleeps s
    ASOF LEFT JOIN wakes w ON s.thread_key = w.thread_key AND s.ends >= w.timestamp
)
SELECT * REPLACE (
    CASE WHEN woken THEN waker_timestamp END AS waker_timestamp,
    CASE WHEN woken THEN waker_command END AS waker_command,
    CASE WHEN woken THEN waker_thread END AS waker_thread,
    CASE WHEN woken THEN waker_tgid END AS waker_tgid,
    CASE WHEN woken THEN waker_pid END AS waker_pid,
    CASE WHEN woken THEN waker_buildid END AS waker_buildid,
    CASE WHEN woken THEN waker_ustack_id END AS waker_ustack_id,
    CASE WHEN woken THEN waker_kstack_id END AS waker_kstack_id)
FROM joined;

-- `growth` is the change since the row before of the same process: null in its first, as what it had before the
-- recording is not known. It is the change since that row and not only of this one event where 1 of N are kept: sums are
-- right, and with N = 1 (rss:u:0) each stack's part is.
CREATE OR REPLACE VIEW rss AS
SELECT * EXCLUDE (process_key), amount - lag(amount) OVER (PARTITION BY process_key ORDER BY timestamp) AS growth
FROM (SELECT *, hash(host, tgid) AS process_key FROM events WHERE kind = 'rss');

-- A span that is entered and left several times (a task that is polled) waits in between: from one trace_exit, whose
-- stacks these are, to the next time it is entered, or to its end. `ended` says which: entered, closed, or open when nothing
-- was seen after it; then it runs to the end of the recording.
CREATE OR REPLACE VIEW span_waits AS
WITH ends AS (
    SELECT host, max(timestamp) AS end_ns
    FROM events
    GROUP BY host
), spans AS (
    SELECT *, hash(host, tgid, span_id) AS span_key
    FROM events
    WHERE kind IN ('trace_exit', 'trace_close')
), exits AS (
    SELECT
        *,
        lead(kind) OVER next_row AS next_kind,
        -- The duration of a close is that of the whole span.
        lead(CASE WHEN kind = 'trace_close' THEN timestamp ELSE timestamp - duration END) OVER next_row AS next_ns
    FROM spans
    WINDOW next_row AS (PARTITION BY span_key ORDER BY timestamp, kind = 'trace_close')
)
SELECT
    exits.* EXCLUDE (span_key, next_kind, next_ns),
    CASE next_kind WHEN 'trace_exit' THEN 'entered' WHEN 'trace_close' THEN 'closed' ELSE 'open' END AS ended,
    greatest(coalesce(next_ns, end_ns) - timestamp, 0) AS wait_ns
FROM exits
JOIN ends ON ends.host IS NOT DISTINCT FROM exits.host
WHERE kind = 'trace_exit';

-- Frames with the fields that all recordings have, so that lists of them go together.
CREATE OR REPLACE MACRO as_frames(list) AS list_transform(list, lambda f: {
    'name': f.name, 'address': f.address, 'offset': f.offset, 'module': f.module, 'build_id': f.build_id,
    'file_offset': f.file_offset});

-- A list of one frame that is no code: its name says something of the stack.
CREATE OR REPLACE MACRO label(text) AS [{
    'name': text, 'address': 0::UBIGINT, 'offset': 0::UBIGINT, 'module': '[label]', 'build_id': NULL::VARCHAR,
    'file_offset': NULL::UBIGINT}];
