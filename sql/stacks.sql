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
-- (slices, woken_slices and span_exits, of which offcpu, wakeups and span_waits are made, pair rows with those that follow
-- them; stacksexport has a way of its own for that, see in_order.sql.)
--
-- as_frames(list), label(text) to put frames of one's own onto stacks, and stack_part(id), reversed_part(id),
-- label_part(text), of which `stacksexport pprof` puts stacks together: it fetches their frames, each once.
--
-- offcpu_of('NAME'), rss_of('NAME') and span_waits_of('NAME') are these views over the events of a table, a view or a CTE:
-- those of a few threads are sorted in a fraction of the time. Of each thread, process or span that is in it, it has to
-- have all rows of their kinds.
--
-- Frames are long. A query over many events is fastest when it groups events by ustack_id and kstack_id first,
-- and fetches frames for what is left; sql/pprof/ does so. A filter by a constant on what a view sorts by (pid in offcpu,
-- tgid in rss, span_id in span_waits) acts before it sorts.

CREATE OR REPLACE VIEW events AS
SELECT *
FROM read_parquet(
    coalesce(getvariable('events_files'), [coalesce(getvariable('recording'), '.') || '/events-*.parquet']),
    union_by_name => true);

-- Each batch has all stacks that its own events refer to, so most stacks are in many batches: the row in the first of
-- them counts. Which that is, is known from the ids alone; frames are read of these rows, and of no file without one.
CREATE OR REPLACE VIEW whole_stacktraces AS
SELECT stack_id, frames
FROM read_parquet(
    coalesce(getvariable('stacktraces_files'), [coalesce(getvariable('recording'), '.') || '/stacktraces-*.parquet']),
    union_by_name => true)
WHERE (file_index, file_row_number) IN (
    SELECT min(file_index), arg_min(file_row_number, file_index)
    FROM read_parquet(
        coalesce(getvariable('stacktraces_files'), [coalesce(getvariable('recording'), '.') || '/stacktraces-*.parquet']),
        union_by_name => true)
    GROUP BY stack_id);

-- stacksexport leaves out what interpreters do for the programs that they run, see without_interpreter.sql.
CREATE OR REPLACE VIEW stacktraces AS
FROM whole_stacktraces;

CREATE OR REPLACE VIEW stacks AS
SELECT e.*, coalesce(u.frames, []) AS ustack, coalesce(k.frames, []) AS kstack
FROM events e
LEFT JOIN stacktraces u ON u.stack_id = e.ustack_id
LEFT JOIN stacktraces k ON k.stack_id = e.kstack_id;

-- Slices that another one of the thread follows: where that begins, and how long it had waited for a CPU by then. None
-- follows in whom is dead, or at the end of the recording.
CREATE OR REPLACE MACRO slices_of(switches) AS TABLE
SELECT
    * EXCLUDE (begin, waited, host_key, leaves),
    lead(begin) OVER next_slice AS next_begin,
    lead(waited) OVER next_slice AS next_waited
FROM (
    -- What the sort has to carry is small.
    SELECT
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        ustack_id, kstack_id, unwind, state,
        coalesce(state, '') NOT IN ('dead', 'running', 'waiting') AS leaves,
        timestamp - duration AS begin, runnable - least(runnable, coalesce(gaps, 0)) AS waited,
        (hash(host) >> 33)::INTEGER AS host_key -- short, as it is sorted by
    FROM query_table(switches)
    WHERE kind = 'switch')
WINDOW next_slice AS (PARTITION BY pid, host_key ORDER BY timestamp)
QUALIFY leaves AND next_begin IS NOT NULL;

CREATE OR REPLACE VIEW slices AS
FROM slices_of('events');

-- Off-CPU time lies between two slices of a thread: from the end of one (its stack is where the thread waited, its
-- state says how it left) to the start of the next. `offcpu_ns` = `blocked_ns` + `runnable_ns`; the runnable part is
-- when the thread could run and no CPU took it. Where the recording had a minimum (switch::10ms), the shorter
-- intervals inside a slice are a row of their own, of the slice that they are in, with state 'gaps' and without a
-- stack; the slice's runnable time is counted as theirs first.
CREATE OR REPLACE MACRO intervals_of(slices, switches) AS TABLE
SELECT
    * EXCLUDE (next_begin, next_waited),
    greatest(next_begin - timestamp, 0) AS offcpu_ns,
    -- Who was preempted could run all the time.
    least(offcpu_ns, coalesce(next_waited, CASE WHEN state = 'preempted' THEN offcpu_ns ELSE 0 END)) AS runnable_ns,
    offcpu_ns - runnable_ns AS blocked_ns
FROM query_table(slices)
UNION ALL BY NAME
SELECT
    timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
    'gaps' AS state, gaps AS offcpu_ns, least(gaps, coalesce(runnable, 0)) AS runnable_ns,
    offcpu_ns - runnable_ns AS blocked_ns
FROM query_table(switches)
WHERE kind = 'switch' AND gaps > 0;

CREATE OR REPLACE MACRO offcpu_of(switches) AS TABLE
WITH slices_there AS (
    FROM slices_of(switches)
)
FROM intervals_of('slices_there', switches);

CREATE OR REPLACE VIEW offcpu AS
FROM intervals_of('slices', 'events');

-- Estimates of how many rows an ASOF join gets are far too low here, and for few rows DuckDB compares each with each.
SET asof_loop_join_threshold = 0;

-- Slices with the last wake-up of the thread between them and the next.
CREATE OR REPLACE VIEW woken_slices AS
WITH slept AS (
    SELECT *, greatest(next_begin, timestamp) AS ends, hash(host, pid) AS thread_key
    FROM slices
), wakes AS (
    SELECT *, hash(host, target) AS thread_key
    FROM events
    WHERE kind = 'wake'
), joined AS (
    SELECT
        s.* EXCLUDE (ends, thread_key), coalesce(w.timestamp >= s.timestamp, false) AS woken,
        w.timestamp AS mark_timestamp, w.command AS mark_command, w.thread AS mark_thread, w.tgid AS mark_tgid,
        w.pid AS mark_pid, w.buildid AS mark_buildid, w.ustack_id AS mark_ustack_id, w.kstack_id AS mark_kstack_id
    FROM slept s
    ASOF LEFT JOIN wakes w ON s.thread_key = w.thread_key AND s.ends >= w.timestamp
)
SELECT * EXCLUDE (woken) REPLACE (
    CASE WHEN woken THEN mark_timestamp END AS mark_timestamp,
    CASE WHEN woken THEN mark_command END AS mark_command,
    CASE WHEN woken THEN mark_thread END AS mark_thread,
    CASE WHEN woken THEN mark_tgid END AS mark_tgid,
    CASE WHEN woken THEN mark_pid END AS mark_pid,
    CASE WHEN woken THEN mark_buildid END AS mark_buildid,
    CASE WHEN woken THEN mark_ustack_id END AS mark_ustack_id,
    CASE WHEN woken THEN mark_kstack_id END AS mark_kstack_id)
FROM joined;

-- Off-CPU intervals with the last wake-up of the thread in them: when it was, by whom and with which stacks. Null where
-- none was recorded: the thread was preempted, it waits still, or the recording has no kind wake.
CREATE OR REPLACE VIEW wakeups AS
SELECT
    * EXCLUDE (
        mark_timestamp, mark_command, mark_thread, mark_tgid, mark_pid, mark_buildid, mark_ustack_id, mark_kstack_id),
    mark_timestamp IS NOT NULL AS woken,
    mark_timestamp AS waker_timestamp, mark_command AS waker_command, mark_thread AS waker_thread,
    mark_tgid AS waker_tgid, mark_pid AS waker_pid, mark_buildid AS waker_buildid, mark_ustack_id AS waker_ustack_id,
    mark_kstack_id AS waker_kstack_id
FROM intervals_of('woken_slices', 'events');

-- `growth` is the change since the row before of the same process: null in its first, as what it had before the
-- recording is not known. It is the change since that row and not only of this one event where 1 of N are kept: sums are
-- right, and with N = 1 (rss:u:0) each stack's part is.
CREATE OR REPLACE MACRO rss_of(changes) AS TABLE
SELECT * EXCLUDE (host_key), amount - lag(amount) OVER (PARTITION BY tgid, host_key ORDER BY timestamp) AS growth
FROM (SELECT *, (hash(host) >> 33)::INTEGER AS host_key FROM query_table(changes) WHERE kind = 'rss');

CREATE OR REPLACE VIEW rss AS
FROM rss_of('events');

-- What a span was left with, and what follows it in the same span: an exit of it, or its close.
CREATE OR REPLACE MACRO span_exits_of(spans) AS TABLE
SELECT
    * EXCLUDE (process_key, is_close, begin),
    lead(is_close) OVER next_row AS next_is_close, lead(begin) OVER next_row AS next_begin
FROM (
    -- The duration of a close is that of the whole span.
    SELECT
        timestamp, duration, kind, cpu, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, id, amount,
        trace_name, ustack_id, kstack_id, unwind,
        kind = 'trace_close' AS is_close, timestamp - CASE WHEN is_close THEN 0 ELSE duration END AS begin,
        hash(host, tgid) AS process_key
    FROM query_table(spans)
    WHERE starts_with(kind, 'trace_')) -- and not IN: that is applied while the file is read
WINDOW next_row AS (PARTITION BY span_id, process_key ORDER BY timestamp, is_close)
QUALIFY NOT is_close;

CREATE OR REPLACE VIEW span_exits AS
FROM span_exits_of('events');

-- A span that is entered and left several times (a task that is polled) waits in between: from one trace_exit, whose
-- stacks these are, to the next time it is entered, or to its end. `ended` says which: entered, closed, or open when nothing
-- was seen after it; then it runs to the end of the recording.
CREATE OR REPLACE MACRO waits_after(exits) AS TABLE
WITH ends AS (
    SELECT map_from_entries(list({'host': host, 'end_ns': end_ns})) AS of_host
    FROM (SELECT coalesce(host, '') AS host, max(timestamp) AS end_ns FROM events GROUP BY ALL)
)
SELECT
    e.* EXCLUDE (next_is_close, next_begin),
    CASE WHEN next_is_close THEN 'closed' WHEN next_begin IS NOT NULL THEN 'entered' ELSE 'open' END AS ended,
    greatest(
        CASE WHEN next_begin IS NULL THEN (SELECT of_host FROM ends)[coalesce(host, '')] ELSE next_begin END - timestamp,
        0) AS wait_ns
FROM query_table(exits) e;

CREATE OR REPLACE MACRO span_waits_of(spans) AS TABLE
WITH exits_there AS (
    FROM span_exits_of(spans)
)
FROM waits_after('exits_there');

CREATE OR REPLACE VIEW span_waits AS
FROM waits_after('span_exits');

-- Frames with the fields that all recordings have, so that lists of them go together.
CREATE OR REPLACE MACRO as_frames(list) AS list_transform(list, lambda f: {
    'name': f.name, 'address': f.address, 'offset': f.offset, 'module': f.module, 'build_id': f.build_id,
    'file_offset': f.file_offset});

-- A list of one frame that is no code: its name says something of the stack.
CREATE OR REPLACE MACRO label(text) AS [{
    'name': text, 'address': 0::UBIGINT, 'offset': 0::UBIGINT, 'module': '[label]', 'build_id': NULL::VARCHAR,
    'file_offset': NULL::UBIGINT}];

-- A stack as a list of these has its frames fetched last, by `stacksexport pprof`: those of a stack by its id, root first
-- when it is reversed, and frames that are no code. Null is none.
CREATE OR REPLACE MACRO stack_part(id) AS {'stack_id': id::UBIGINT, 'label': NULL::VARCHAR, 'reversed': false};

CREATE OR REPLACE MACRO reversed_part(id) AS {'stack_id': id::UBIGINT, 'label': NULL::VARCHAR, 'reversed': true};

CREATE OR REPLACE MACRO label_part(text) AS {'stack_id': NULL::UBIGINT, 'label': text::VARCHAR, 'reversed': false};

-- "+0x1a2b0": where the function of a frame without a name begins, by its file's call-frame information. A shell does not
-- look into files; stacksexport does, where they are here.
CREATE OR REPLACE MACRO function_at(module, build_id, place) AS NULL::VARCHAR;

-- What a frame is called in tables of functions.
CREATE OR REPLACE MACRO function_of(f) AS {
    'name': coalesce(f.name, function_at(f.module, f.build_id, f.address + f.offset), '[no symbol]'),
    'module': coalesce(parse_filename(f.module), '')};

-- What a span is called: programs may give an empty name.
CREATE OR REPLACE MACRO span_name(name) AS coalesce(nullif(name, ''), '[no name]');
