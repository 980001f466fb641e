-- The tables of a recording, for any DuckDB shell (1.5 or later):
--
--     D SET VARIABLE recording = '/var/lib/stacks/7';
--     D .read sql/stacks.sql
--     D SELECT command, kind, count(*) FROM stacks GROUP BY ALL ORDER BY 3 DESC;
--
-- `recording` is a folder with events-*.parquet, stacktraces-*.parquet and processes-*.parquet, or a glob of such folders;
-- by default the current directory. It can be changed at any time. stacksexport instead sets `events_files`,
-- `stacktraces_files` and `processes_files`, the lists of files.
--
--   events       one row per event, of the selection
--   all_events   one row per event, of the whole recording
--   stacktraces  one row per distinct stack: stack_id, frames (leaf first)
--   stacks       events with ustack and kstack, the frames of ustack_id and kstack_id; an empty list if there is none
--   processes    one row per process, of the whole recording; empty for recordings from before it existed
--   offcpu       one row per interval that a thread spent off the CPU
--   wakeups      offcpu with the thread that ended the interval by a wake-up
--   rss          events of kind rss with the growth of the process's memory
--   span_waits   one row per interval in which a span was open and no thread was in it
--
-- (offcpu, wakeups and span_waits are based on slices, woken_slices and span_exits, which pair rows with the rows that
-- follow them; stacksexport has a faster method for that, see in_order.sql.)
--
-- container_of(cgroup) and unit_of(cgroup) take a cgroup's path.
-- as_frames(list) and label(text) add frames to stacks. stack_part(id), reversed_part(id) and label_part(text) describe
-- stacks for `stacksexport pprof`, which reads the frames of each stack once.
--
-- offcpu_of('NAME'), rss_of('NAME') and span_waits_of('NAME') are these views over the events of a table, a view or a
-- CTE: sorting only the events of a few threads is much faster. The table must have all rows of these kinds of each of
-- its threads, processes or spans.
--
-- A selection is a range of times and other conditions on events: the variables below that are not null. stacksexport sets
-- them for --from, --to, --command and so on; they can be set in a shell, too. A row is in the range if its timestamp is.
-- Of the intervals of offcpu, wakeups and span_waits the part counts that lies in the range. What a row follows is looked
-- for in the whole recording, so a selection neither loses intervals at its ends nor makes new ones: a query that pairs
-- rows itself reads all_events, and selects afterwards.
--
--   selected_from, selected_to       BIGINT   from when, and until before when, in nanoseconds since 1970
--   selected_command, selected_thread         names
--   selected_pid, selected_tid       INTEGER  the process (column tgid), the thread (column pid)
--   selected_span                             the name of a span, or its id in decimal
--   selected_cgroup                           this cgroup, and those inside of it
--   selected_kind, selected_host
--
-- After profile/selected_group.sql, also a group:
--
--   selected_group                            a group by grouped_by: process, thread, cgroup, container, unit, span, host
--   other_groups_than               VARCHAR[] all groups but these
--
-- Frames are long. A query over many events is fastest when it groups events by ustack_id and kstack_id first,
-- and fetches frames for what is left; sql/pprof/ does so. A filter by a constant on what a view sorts by (pid in offcpu,
-- tgid in rss, span_id in span_waits) acts before it sorts.

-- These two tables exist already if there are parts of a fleet folder (fleet_tables.sql).
CREATE VIEW IF NOT EXISTS all_events AS
SELECT *
FROM read_parquet(
    coalesce(getvariable('events_files'), [coalesce(getvariable('recording'), '.') || '/events-*.parquet']),
    union_by_name => coalesce(getvariable('unions_columns'), true));

-- DuckDB has the values of variables when it plans a query: a variable that is not set costs nothing, and the others are
-- compared with the limits in the files before they are read.
CREATE OR REPLACE MACRO in_selected_range(moment) AS
    (getvariable('selected_from') IS NULL OR moment >= getvariable('selected_from'))
    AND (getvariable('selected_to') IS NULL OR moment < getvariable('selected_to'));

-- For how long an interval lies in the range, and where this part begins.
CREATE OR REPLACE MACRO selected_ns(begins, ends) AS
    greatest(least(ends, getvariable('selected_to')) - greatest(begins, getvariable('selected_from')), 0);

CREATE OR REPLACE MACRO selected_begin(begins) AS
    greatest(begins, getvariable('selected_from'));

CREATE OR REPLACE MACRO has_selected_range() AS
    getvariable('selected_from') IS NOT NULL OR getvariable('selected_to') IS NOT NULL;

-- The id of a container in a cgroup's path, 12 digits as its runtime prints it, or its name (LXC, systemd-nspawn).
CREATE OR REPLACE MACRO container_of(cgroup) AS
    coalesce(
        nullif(left(regexp_extract(cgroup, '(?:^|[-/:])([0-9a-f]{64})(?:\.scope|/|$)', 1), 12), ''),
        nullif(regexp_extract(cgroup, '/lxc(?:\.payload[./]|/)([^/]+)', 1), ''),
        nullif(regexp_extract(cgroup, '/machine\.slice/(?:systemd-nspawn@|machine-)(.+?)\.(?:service|scope)', 1), ''),
        '');

-- The innermost unit of systemd that is no slice.
CREATE OR REPLACE MACRO unit_of(cgroup) AS
    regexp_extract(cgroup, '.*/([^/]+\.(?:service|scope|socket|mount|swap))(?:/|$)', 1);

-- What an event belongs to by one of the ways of stacksexport --by; null by any other.
CREATE OR REPLACE MACRO group_by_name(way, command, thread, tgid, pid, cgroup, trace_name, host) AS
    CASE way
        WHEN 'command' THEN command
        WHEN 'process' THEN concat(command, ' (', tgid, ')')
        WHEN 'thread' THEN concat(coalesce(thread, command), ' (', pid, ')')
        WHEN 'cgroup' THEN coalesce(cgroup, '[no cgroup]')
        WHEN 'container' THEN coalesce(nullif(container_of(coalesce(cgroup, '')), ''), '[no container]')
        WHEN 'unit' THEN coalesce(nullif(unit_of(coalesce(cgroup, '')), ''), '[no unit]')
        WHEN 'span' THEN coalesce(nullif(trace_name, ''), '[no span]')
        WHEN 'host' THEN coalesce(host, '[no host]')
    END;

-- The group of an event: its command, or what the variable grouped_by names (stacksexport --by).
CREATE OR REPLACE MACRO group_of(command, thread, tgid, pid, cgroup, trace_name, host) AS
    group_by_name(
        coalesce(getvariable('grouped_by'), 'command'), command, thread, tgid, pid, cgroup, trace_name, host);

-- Whether an event is selected, whatever its time and kind are.
CREATE OR REPLACE MACRO is_selected(command, thread, tgid, pid, cgroup, trace_name, host, span_id) AS
    (getvariable('selected_command') IS NULL OR command = getvariable('selected_command'))
    AND (getvariable('selected_thread') IS NULL OR coalesce(thread, command) = getvariable('selected_thread'))
    AND (getvariable('selected_pid') IS NULL OR tgid = getvariable('selected_pid'))
    AND (getvariable('selected_tid') IS NULL OR pid = getvariable('selected_tid'))
    AND (getvariable('selected_host') IS NULL OR host = getvariable('selected_host'))
    AND (
        getvariable('selected_span') IS NULL
        OR trace_name = getvariable('selected_span')
        OR span_id = nullif(TRY_CAST(getvariable('selected_span') AS UBIGINT), 0))
    AND (
        getvariable('selected_cgroup') IS NULL
        OR cgroup = getvariable('selected_cgroup')
        OR starts_with(cgroup, rtrim(getvariable('selected_cgroup'), '/') || '/'));

-- Rows of a table, whatever their times are.
CREATE OR REPLACE MACRO selected(rows) AS TABLE
SELECT *
FROM query_table(rows)
WHERE is_selected(command, thread, tgid, pid, cgroup, trace_name, host, span_id);

CREATE OR REPLACE VIEW events AS
FROM selected('all_events')
WHERE in_selected_range(timestamp) AND (getvariable('selected_kind') IS NULL OR kind = getvariable('selected_kind'));

-- Each batch has all stacks of its own events, so most stacks are in many batches: the row in the first batch counts.
-- The ids alone determine that row; frames are read only for these rows, and from no file without one.
CREATE VIEW IF NOT EXISTS whole_stacktraces AS
SELECT stack_id, frames
FROM read_parquet(
    coalesce(getvariable('stacktraces_files'), [coalesce(getvariable('recording'), '.') || '/stacktraces-*.parquet']),
    union_by_name => coalesce(getvariable('unions_columns'), true))
WHERE (file_index, file_row_number) IN (
    SELECT min(file_index), arg_min(file_row_number, file_index)
    FROM read_parquet(
        coalesce(getvariable('stacktraces_files'), [coalesce(getvariable('recording'), '.') || '/stacktraces-*.parquet']),
        union_by_name => coalesce(getvariable('unions_columns'), true))
    GROUP BY stack_id);

-- stacksexport leaves out what interpreters do for the programs that they run, see without_interpreter.sql.
CREATE OR REPLACE VIEW stacktraces AS
FROM whole_stacktraces;

CREATE OR REPLACE VIEW stacks AS
SELECT e.*, coalesce(u.frames, []) AS ustack, coalesce(k.frames, []) AS kstack
FROM events e
LEFT JOIN stacktraces u ON u.stack_id = e.ustack_id
LEFT JOIN stacktraces k ON k.stack_id = e.kstack_id;

-- The rows of processes of all batches. The union with a row that has all columns makes those null that a file lacks; old
-- recordings have no such files. In a shell the pattern matches the events, too, so that it always matches something.
CREATE OR REPLACE VIEW process_rows AS
SELECT * EXCLUDE (filename)
FROM (
    SELECT
        NULL::BIGINT AS timestamp, NULL::INTEGER AS tgid, NULL::BIGINT AS start, NULL::INTEGER AS parent,
        NULL::VARCHAR AS command_line, NULL::VARCHAR AS executable, NULL::VARCHAR AS cgroup, NULL::INTEGER AS uid,
        NULL::VARCHAR AS user, NULL::VARCHAR AS host, NULL::VARCHAR AS container_name, NULL::VARCHAR AS filename
    UNION ALL BY NAME
    SELECT *, filename
    FROM read_parquet(
        coalesce(
            getvariable('processes_files'), getvariable('events_files')[1:1],
            [coalesce(getvariable('recording'), '.') || '/[ep]*s-*.parquet']),
        union_by_name => coalesce(getvariable('unions_columns'), true), hive_partitioning => false))
WHERE starts_with(parse_filename(filename), 'processes-') OR contains(filename, '/processes/day=');

-- A process as its newest row describes it: it may have run several programs, and may have changed its command line.
-- `start` is null if the process ended before it was read. An id can be used again: of the processes with the tgid of an
-- event, its process is the last one that started before the event (ASOF JOIN ... AND e.timestamp >= p.start).
CREATE OR REPLACE VIEW processes AS
SELECT
    host, tgid, start, parent, command_line, executable, cgroup, nullif(container_of(cgroup), '') AS container,
    container_name, nullif(unit_of(cgroup), '') AS unit, uid, user
FROM process_rows
QUALIFY row_number() OVER (PARTITION BY host, tgid, start ORDER BY timestamp DESC) = 1;

-- Slices that another slice of the thread follows: when that one begins, and how long it had waited for a CPU by then.
-- No slice follows a dead thread, or the end of the recording.
CREATE OR REPLACE MACRO slices_of(switches) AS TABLE
SELECT
    * EXCLUDE (begin, waited, host_key, leaves),
    lead(begin) OVER next_slice AS next_begin,
    lead(waited) OVER next_slice AS next_waited
FROM (
    -- Keep the sorted rows small.
    SELECT
        timestamp, command, thread, tgid, pid, buildid, cgroup, host, span_id, parent_id, trace_name,
        ustack_id, kstack_id, unwind, state,
        coalesce(state, '') NOT IN ('dead', 'running', 'waiting') AS leaves,
        timestamp - duration AS begin, runnable - least(runnable, coalesce(gaps, 0)) AS waited,
        (hash(host) >> 33)::INTEGER AS host_key -- short, because rows are sorted by it
    FROM query_table(switches)
    WHERE kind = 'switch')
WINDOW next_slice AS (PARTITION BY pid, host_key ORDER BY timestamp)
QUALIFY leaves AND next_begin IS NOT NULL;

CREATE OR REPLACE VIEW slices AS
FROM slices_of('all_events');

-- Off-CPU time is between two slices of a thread: from the end of one (its stack is where the thread waited, its state
-- is how it left) to the start of the next. `offcpu_ns` = `blocked_ns` + `runnable_ns`; in the runnable part the thread
-- could run but got no CPU. If the recording had a minimum (switch::10ms), the shorter intervals inside a slice are one
-- additional row for that slice, with state 'gaps' and without a stack; the slice's runnable time is counted for them
-- first.
CREATE OR REPLACE MACRO intervals_of(slices, switches) AS TABLE
SELECT
    * EXCLUDE (next_begin, next_waited),
    greatest(next_begin - timestamp, 0) AS offcpu_ns,
    -- A preempted thread could run all the time.
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

-- The parts of such intervals that lie in the selected range: a thread is blocked first, then it can run.
CREATE OR REPLACE MACRO selected_intervals(intervals) AS TABLE
SELECT
    * REPLACE (
        CASE WHEN has_selected_range() AND state IS DISTINCT FROM 'gaps'
            THEN selected_ns(timestamp, timestamp + offcpu_ns) ELSE offcpu_ns END AS offcpu_ns,
        CASE WHEN has_selected_range() AND state IS DISTINCT FROM 'gaps'
            THEN selected_ns(timestamp + blocked_ns, timestamp + offcpu_ns) ELSE runnable_ns END AS runnable_ns,
        CASE WHEN has_selected_range() AND state IS DISTINCT FROM 'gaps'
            THEN selected_ns(timestamp, timestamp + blocked_ns) ELSE blocked_ns END AS blocked_ns)
FROM selected(intervals)
WHERE NOT has_selected_range()
    OR in_selected_range(timestamp)
    OR state IS DISTINCT FROM 'gaps' AND selected_ns(timestamp, timestamp + offcpu_ns) > 0;

CREATE OR REPLACE VIEW offcpu AS
WITH intervals AS (
    FROM intervals_of('slices', 'all_events')
)
FROM selected_intervals('intervals')
WHERE coalesce(getvariable('selected_kind'), 'switch') = 'switch';

-- DuckDB estimates far too few rows for an ASOF join, and compares every pair if it expects few rows.
SET asof_loop_join_threshold = 0;

-- Slices with the last wake-up of the thread between them and the next.
CREATE OR REPLACE VIEW woken_slices AS
WITH slept AS (
    SELECT *, greatest(next_begin, timestamp) AS ends, hash(host, pid) AS thread_key
    FROM slices
), wakes AS (
    SELECT *, hash(host, target) AS thread_key
    FROM all_events
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

-- Off-CPU intervals with the thread's last wake-up in them: its time, its waker and its stacks. Null if none was
-- recorded: the thread was preempted, it still waits, or the recording lacks kind wake.
CREATE OR REPLACE VIEW wakeups AS
WITH intervals AS (
    FROM intervals_of('woken_slices', 'all_events')
)
SELECT
    * EXCLUDE (
        mark_timestamp, mark_command, mark_thread, mark_tgid, mark_pid, mark_buildid, mark_ustack_id, mark_kstack_id),
    mark_timestamp IS NOT NULL AS woken,
    mark_timestamp AS waker_timestamp, mark_command AS waker_command, mark_thread AS waker_thread,
    mark_tgid AS waker_tgid, mark_pid AS waker_pid, mark_buildid AS waker_buildid, mark_ustack_id AS waker_ustack_id,
    mark_kstack_id AS waker_kstack_id
FROM selected_intervals('intervals')
WHERE coalesce(getvariable('selected_kind'), 'switch') IN ('switch', 'wake');

-- `growth` is the change since the previous row of the same process. It is null in the first row, because the memory
-- before the recording is unknown. If 1 of N changes is recorded, it includes the changes between the rows: sums are
-- exact, and with N = 1 (rss:u:0) also the part of each stack.
CREATE OR REPLACE MACRO rss_of(changes) AS TABLE
SELECT * EXCLUDE (host_key), amount - lag(amount) OVER (PARTITION BY tgid, host_key ORDER BY timestamp) AS growth
FROM (SELECT *, (hash(host) >> 33)::INTEGER AS host_key FROM query_table(changes) WHERE kind = 'rss');

CREATE OR REPLACE VIEW rss AS
WITH changes AS (
    FROM rss_of('all_events')
)
FROM selected('changes')
WHERE in_selected_range(timestamp) AND coalesce(getvariable('selected_kind'), 'rss') = 'rss';

-- The exits of a span, and the row that follows each in the same span: another exit, or the close.
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
    WHERE starts_with(kind, 'trace_')) -- and not IN: this filter is applied while the file is read
WINDOW next_row AS (PARTITION BY span_id, process_key ORDER BY timestamp, is_close)
QUALIFY NOT is_close;

CREATE OR REPLACE VIEW span_exits AS
FROM span_exits_of('all_events');

-- A span that is entered and left several times (a polled task) waits in between: from one trace_exit, which has the
-- stacks, to the next enter, or to its end. `ended` is entered, closed, or open if nothing followed; an open wait lasts
-- to the end of the recording.
CREATE OR REPLACE MACRO waits_after(exits) AS TABLE
WITH ends AS (
    SELECT map_from_entries(list({'host': host, 'end_ns': end_ns})) AS of_host
    FROM (SELECT coalesce(host, '') AS host, max(timestamp) AS end_ns FROM all_events GROUP BY ALL)
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
WITH waits AS (
    FROM waits_after('span_exits')
)
SELECT
    * REPLACE (CASE WHEN has_selected_range() THEN selected_ns(timestamp, timestamp + wait_ns) ELSE wait_ns END AS wait_ns)
FROM selected('waits')
WHERE (NOT has_selected_range() OR in_selected_range(timestamp) OR selected_ns(timestamp, timestamp + wait_ns) > 0)
    AND (getvariable('selected_kind') IS NULL OR kind = getvariable('selected_kind'));

-- Frames with the fields that all recordings have, so that their lists can be joined.
CREATE OR REPLACE MACRO as_frames(list) AS list_transform(list, lambda f: {
    'name': f.name, 'address': f.address, 'offset': f.offset, 'module': f.module, 'build_id': f.build_id,
    'file_offset': f.file_offset});

-- A list of one frame that is not code: its name describes the stack.
CREATE OR REPLACE MACRO label(text) AS [{
    'name': text, 'address': 0::UBIGINT, 'offset': 0::UBIGINT, 'module': '[label]', 'build_id': NULL::VARCHAR,
    'file_offset': NULL::UBIGINT}];

-- `stacksexport pprof` reads the frames of a stack that is a list of these parts at the end: frames of a stack by its
-- id, root first if it is reversed, and frames that are not code. Null is an empty part.
CREATE OR REPLACE MACRO stack_part(id) AS {'stack_id': id::UBIGINT, 'label': NULL::VARCHAR, 'reversed': false};

CREATE OR REPLACE MACRO reversed_part(id) AS {'stack_id': id::UBIGINT, 'label': NULL::VARCHAR, 'reversed': true};

CREATE OR REPLACE MACRO label_part(text) AS {'stack_id': NULL::UBIGINT, 'label': text::VARCHAR, 'reversed': false};

-- "+0x1a2b0": the start of the function of a frame without a name, according to its file's call-frame information. A
-- shell does not read files; stacksexport does, if they are here.
CREATE OR REPLACE MACRO function_at(module, build_id, place) AS NULL::VARCHAR;

-- A name without what the compiler appends to the copies and parts that it makes of a function: `work.constprop.0`,
-- `work(int) [clone .cold]`. The columns of the recording keep it.
CREATE OR REPLACE MACRO without_suffixes(name) AS CASE
    WHEN contains(name, '.')
        THEN regexp_replace(
            name,
            '(.)(( \[clone [^\[\]]*\])|(\.(constprop|isra|part)\.[0-9]+)|(\.cold(\.[0-9]+)?))+$',
            '\1')
    ELSE name
END;

-- The name of a frame in tables of functions.
CREATE OR REPLACE MACRO function_of(f) AS {
    'name': coalesce(without_suffixes(f.name), function_at(f.module, f.build_id, f.address + f.offset), '[no symbol]'),
    'module': coalesce(parse_filename(f.module), '')};

-- The name of a span: programs may give an empty name.
CREATE OR REPLACE MACRO span_name(name) AS coalesce(nullif(name, ''), '[no name]');
