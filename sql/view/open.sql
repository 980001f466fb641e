-- `stacksexport view`: the tables that its requests read. They hold the recording as numbers, so that a request reads no
-- text and no file. Times are unix nanoseconds.
--
--   page.totals   events by thread and kind
--   page.threads  host, cgroup, command, thread, tgid, pid, span; each combination once
--   page.samples  one row per event with a value: CPU time, bytes, faults …
--   page.waits    one row per interval off the CPU: blocked from begins to woken, runnable from woken to ends
CREATE SCHEMA page;

CREATE TYPE page.state AS ENUM (
    'unknown', 'preempted', 'sleeping', 'disk_sleep', 'stopped', 'traced', 'parked', 'idle', 'gaps');

CREATE MACRO page.state_code(state) AS coalesce(enum_code(TRY_CAST(state AS page.state)), 0)::UTINYINT;

CREATE MACRO page.state_name(code) AS enum_range(NULL::page.state)[code + 1];

-- The ids of page.samples.metric; 7 are whole spans, 10 lost events. 8 is what a process has grown by, 9 what it had at its
-- first row (load_memory.sql).
CREATE MACRO page.metric_of(kind) AS CASE
    WHEN kind = 'profile' THEN 1
    WHEN starts_with(kind, 'blk_') THEN 2
    WHEN starts_with(kind, 'vfs_') THEN 3
    WHEN kind IN ('tcp_send', 'tcp_recv', 'udp_send', 'udp_recv') THEN 4
    WHEN kind = 'fault' THEN 5
    WHEN kind = 'wake' THEN 6
    WHEN kind = 'trace_close' THEN 7
    WHEN kind = 'lost' THEN 10
END::UTINYINT;

-- A row's part of a sum, by its weight. A product that no 64-bit number holds is nothing.
CREATE MACRO page.weighted(value, weight) AS
    CASE WHEN coalesce(weight, 1) = 1 THEN value ELSE coalesce(TRY_CAST(value::HUGEINT * weight AS BIGINT), 0) END;

CREATE MACRO page.value_of(kind, duration, amount, weight) AS CASE
    WHEN kind IN ('fault', 'wake') THEN coalesce(weight, 1)::BIGINT
    WHEN kind = 'lost' THEN amount
    WHEN starts_with(kind, 'tcp_') OR starts_with(kind, 'udp_') THEN page.weighted(amount, weight)
    ELSE page.weighted(duration, weight)
END;

CREATE MACRO page.span_of(span_id, trace_name) AS CASE WHEN span_id != 0 THEN span_name(trace_name) END;

-- Tells threads apart: all that a request may select them by.
CREATE MACRO page.thread_key(host, cgroup, command, thread, tgid, pid, span) AS
    hash(host, cgroup, command, thread, tgid, pid, span);

CREATE TABLE page.totals (
    host VARCHAR, cgroup VARCHAR, command VARCHAR, thread VARCHAR, tgid INTEGER, pid INTEGER, span VARCHAR, kind VARCHAR,
    lost_kind VARCHAR, reason VARCHAR, events BIGINT, weight HUGEINT, duration HUGEINT, amount HUGEINT, begins BIGINT,
    ends BIGINT);

CREATE TABLE page.threads (
    who UINTEGER, key UBIGINT, host VARCHAR, cgroup VARCHAR, command VARCHAR, thread VARCHAR, tgid INTEGER, pid INTEGER,
    span VARCHAR);

CREATE TABLE page.samples (
    metric UTINYINT, moment BIGINT, value BIGINT, weight INTEGER, who UINTEGER, ustack_id UBIGINT, kstack_id UBIGINT);

CREATE TABLE page.waits (
    begins BIGINT, woken BIGINT, ends BIGINT, state UTINYINT, who UINTEGER, ustack_id UBIGINT, kstack_id UBIGINT);

-- The stacks of an event as api/stack takes them: the kernel's, on top of the user's; null without.
CREATE MACRO page.stack_text(ustack_id, kstack_id) AS
    nullif(concat_ws('-', lpad(lower(to_hex(kstack_id)), 16, '0'), lpad(lower(to_hex(ustack_id)), 16, '0')), '');

-- The threads that a request selects; null selects all. label: the thread that stands for all of the same root; 0: none.
CREATE MACRO page.chosen(root, command_, tgid_, pid_, thread_, span_, cgroup_, host_) AS TABLE
SELECT
    who, span IS NOT NULL AS in_span,
    group_by_name(root::VARCHAR, command, thread, tgid, pid, cgroup, span, host) AS text,
    CASE WHEN text IS NULL THEN 0 ELSE min(who) OVER (PARTITION BY text) END::UINTEGER AS label
FROM page.threads t
WHERE (command_ IS NULL OR command = command_::VARCHAR)
    AND (tgid_ IS NULL OR tgid = tgid_::INTEGER)
    AND (pid_ IS NULL OR pid = pid_::INTEGER)
    AND (thread_ IS NULL OR coalesce(thread, command) = thread_::VARCHAR)
    AND (span_ IS NULL OR span = span_::VARCHAR)
    AND (cgroup_ IS NULL OR cgroup = cgroup_::VARCHAR OR starts_with(cgroup, rtrim(cgroup_::VARCHAR, '/') || '/'))
    AND (host_ IS NULL OR host = host_::VARCHAR);

-- The selected events, and the notices of lost ones, which have no command.
CREATE VIEW page.events AS
FROM main.events
WHERE kind != 'lost'
UNION ALL
FROM all_events
WHERE kind = 'lost' AND in_selected_range(timestamp);

CREATE TABLE page.unwinds (how VARCHAR, rows BIGINT);
