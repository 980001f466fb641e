# SPDX-License-Identifier: GPL-2.0-or-later
"""trace: the content of the file, and the errors if there is nothing to draw."""
import gzip
import os
import subprocess

import pytest

from conftest import EXPORT
from exporter import run
from recordings import START, Batch, kernel, names
from traces import Trace, perfetto

MS = 1_000_000
ODD = 'a"b\\c\n\x01\x1f\x7f</x>é😀'


@pytest.fixture
def rec(tmp_path):
    b = Batch()
    b.slice(0, 10 * MS, "sleeping", names("wait", "lock", "main"), kernel("schedule"), pid=101, thread="worker")
    b.slice(110 * MS, 150 * MS, "preempted", names("spin", "main"), pid=101, thread="worker")
    b.add("vfs_read", 120 * MS, names("read", "main"), duration=115 * MS, amount=4096, file=ODD, pid=101)
    b.add("rss", 100 * MS, amount=1 << 20).add("rss", 200 * MS, amount=5 << 20)
    return b.write(tmp_path / "rec")


ON_CPU = """SELECT 'complete' AS event, 'on CPU' AS name, tgid AS pid, pid AS tid, kind, cpu,
    (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration, [kstack_id, ustack_id] AS end_stack
FROM events WHERE kind = 'switch'"""
READS = """SELECT 'complete' AS event, kind AS name, tgid AS pid, pid AS tid, (timestamp - duration) / 1000 AS start,
    timestamp / 1000 AS timestamp, amount, ustack AS stack, file, fs FROM stacks WHERE kind = 'vfs_read'"""
RSS = "SELECT 'counter' AS event, 'rss' AS name, tgid AS pid, timestamp / 1000 AS timestamp, amount, 'memory' AS kind FROM events WHERE kind = 'rss'"


def query_trace(rec, tmp_path, *queries, status=0, output="t.json"):
    """Writes a file for each query: q0.sql and so on. Returns the trace and the messages."""
    files = []
    for i, sql in enumerate(queries):
        files.append(tmp_path / f"q{i}.sql")
        files[-1].write_text(sql)
    p = run("trace", *files, "-r", rec, "--output", tmp_path / output, status=status)
    return (Trace(tmp_path / output) if status == 0 else None), p.stderr


def one(rec, tmp_path, columns, status=0):
    return query_trace(rec, tmp_path, f"SELECT {columns}", status=status)


def test_several_queries_make_one_trace(rec, tmp_path):
    t, said = query_trace(rec, tmp_path, ON_CPU, READS, RSS)
    assert f"wrote {tmp_path}/t.json" in said and "ui.perfetto.dev" in said and "chrome://tracing" in said
    a, b = [e for e in t.complete if e["name"] == "on CPU"]
    assert (a["ts"], a["dur"], b["ts"], b["dur"]) == (0, 10_000, 110_000, 40_000), "microseconds since the first event"
    assert (a["pid"], a["tid"], a["cat"], a["args"]["cpu"]) == (100, 101, "switch", 0)
    assert a["args"]["end_stack"] == ["schedule", "wait", "lock", "main"] and b["args"]["end_stack"] == ["spin", "main"]
    (read,) = [e for e in t.complete if e["name"] == "vfs_read"]
    assert read["args"] == {"amount": 4096, "file": ODD, "stack": ["read", "main"]}
    assert read["tid"] != 101, "it overlaps the slices of the thread without being inside of one"
    assert [(e["ts"], e["args"], e["id"]) for e in t.counters] == [(100_000, {"amount": 1 << 20}, "memory"), (200_000, {"amount": 5 << 20}, "memory")]
    assert t.names == {("process_name", 100, 100): "prog", ("thread_name", 100, 101): "worker", ("thread_name", 100, read["tid"]): "worker 101: q1"}
    assert t.json["otherData"]["zero_unix_ns"] == str(START)
    t.check_perfetto(tmp_path / "t.json")


def test_frames_are_the_right_way_round(rec, tmp_path):
    """The parent of a frame is its caller, and common parts of stacks are stored once."""
    t, _ = query_trace(rec, tmp_path, ON_CPU, READS)
    parents = {f["name"]: t.frames[f["parent"]]["name"] if "parent" in f else None for f in t.frames.values()}
    assert parents == {"main": None, "lock": "main", "wait": "lock", "schedule": "wait", "spin": "main", "read": "main"}
    assert len(t.frames) == 6
    assert {f["category"] for f in t.frames.values()} == {"prog", "[kernel]"}


def test_nanoseconds_survive(tmp_path):
    """Times are not converted through doubles: a parent ends exactly with its child."""
    b = Batch()
    for i in range(200):
        b.add("trace_exit", 1_000 * i + 7 + i, duration=7 + i, trace_name="in").add("trace_exit", 1_000 * i + 7 + i, duration=500, trace_name="out")
    sql = """SELECT 'complete' AS event, trace_name AS name, tgid AS pid, (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration
        FROM events"""
    t, _ = query_trace(b.write(tmp_path / "r"), tmp_path, sql)
    assert {e["tid"] for e in t.complete} == {100}
    assert sorted(round(e["dur"] * 1000) for e in t.complete if e["name"] == "in") == [7 + i for i in range(200)]
    t.check_perfetto(tmp_path / "t.json")


def test_overlaps_get_lines_of_their_own(tmp_path):
    b = Batch()
    for i in range(5):
        b.add("blk_read", 100 + 10 * i, duration=100)
    sql = "SELECT 'complete' AS event, kind AS name, tgid AS pid, (timestamp - duration) * 0.001 AS start, duration * 0.001 AS duration FROM events"
    t, _ = query_trace(b.write(tmp_path / "r"), tmp_path, sql)
    assert len({e["tid"] for e in t.complete}) == 5
    assert sorted(t.names.values()) == ["prog", "prog", "prog 100: q0 (2)", "prog 100: q0 (3)", "prog 100: q0 (4)", "prog 100: q0 (5)"]
    t.check_perfetto(tmp_path / "t.json")
    for i in range(400):
        b.add("blk_read", 100_000 + i, duration=1_000)
    t, said = query_trace(b.write(tmp_path / "r"), tmp_path, sql)
    assert "144 events left out: more than 256 overlap on one thread" in said and len(t.complete) == 261


def test_instants_are_drawn(rec, tmp_path):
    t, _ = one(rec, tmp_path, "'instant' AS event, 'x' AS name, 1 AS pid, 2 AS tid, 5 AS timestamp, 'k' AS kind")
    assert [(e["name"], e["tid"], e["ts"], e["cat"]) for e in t.instants] == [("x", 2, 0, "k")]
    t.check_perfetto(tmp_path / "t.json")


@pytest.mark.parametrize("times, begin, length", [
    ("5 AS start, 7 AS duration", 5, 7), ("12 AS timestamp, 7 AS duration", 5, 7), ("5 AS start, 12 AS timestamp", 5, 7),
    ("5.5 AS start, 0.125 AS duration", 5.5, 0.125), ("5.5::DOUBLE AS start, 1::TINYINT AS duration", 5.5, 1), ("5::UHUGEINT AS start, 0 AS duration", 5, 0),
    ("-5 AS start, 1 AS duration", -5, 1)])
def test_times_are_read_in_every_form(rec, tmp_path, times, begin, length):
    t, _ = one(rec, tmp_path, f"'complete' AS event, 'x' AS name, 1 AS pid, {times}")
    assert [(e["ts"], e["dur"], e["tid"]) for e in t.complete] == [(0, length, 1)]
    assert t.json["otherData"]["zero_unix_ns"] == str(round(begin * 1000))


@pytest.mark.parametrize("column, why", [
    ("'complet' AS event", "event has to be"), ("NULL::VARCHAR AS event", "event has to be"), ("NULL AS pid", "pid or tid"), ("-1 AS pid", "pid or tid"),
    ("4294967295 AS pid", "pid or tid"), ("1::HUGEINT << 100 AS tid", "pid or tid"), ("NULL AS start", "no time"), ("NULL AS duration", "no time"),
    ("'nan'::DOUBLE AS start", "no time"), ("-1 AS duration", "negative duration"), (f"{START} AS start", "nanoseconds"),
    ("170141183460469231731687303715884105727::HUGEINT - 1 AS amount", "63 bits"), ("'counter' AS event", "without amount")])
def test_rows_that_cannot_be_drawn_are_reported(rec, tmp_path, column, why):
    """They are left out and reported; the others are drawn."""
    good = {"event": "'complete'", "name": "'x'", "pid": "1", "tid": "2", "start": "5", "duration": "7", "amount": "NULL::BIGINT"}
    value, name = column.rsplit(" AS ", 1)
    bad = {**good, name: value}
    row = lambda fields: "SELECT " + ", ".join(f"{v} AS {n}" for n, v in fields.items())
    t, said = query_trace(rec, tmp_path, f"{row(good)} UNION ALL {row(bad)}")
    assert len(t.complete) == 1 and "q0.sql: rows left out: 1: " in said and why in said
    (tmp_path / "t.json").unlink()
    _, said = query_trace(rec, tmp_path, row(bad), status=1)
    assert why in said and "no row can be drawn" in said and not (tmp_path / "t.json").exists()


@pytest.mark.parametrize("columns, why", [
    ("1 AS n", "column event is missing"), ("'complete' AS event, 'x' AS name", "column pid is missing"),
    ("'complete' AS event, 'x' AS name, 'y' AS pid", "column pid has to be an integer"),
    ("[1] AS event, 'x' AS name, 1 AS pid", "column event has to be text"),
    ("'complete' AS event, 'x' AS name, 1 AS pid, INTERVAL 1 DAY AS duration", "column duration has to be a number of microseconds"),
    ("'complete' AS event, 'x' AS name, 1 AS pid, now() AS timestamp", "column timestamp has to be a number of microseconds"),
    ("'complete' AS event, 'x' AS name, 1 AS pid, 'f' AS stack", "column stack has to be a stack"),
    ("'complete' AS event, 'x' AS name, 1 AS pid, ['f'] AS stack", "column stack has to be a stack"),
    ("nothing", "nothing")])
def test_wrong_columns_are_refused(rec, tmp_path, columns, why):
    _, said = one(rec, tmp_path, columns, status=1)
    assert why in said
    assert sorted(f.name for f in tmp_path.iterdir()) == ["q0.sql", "rec"]


def test_one_bad_query_spoils_all(rec, tmp_path):
    (tmp_path / "t.json").write_text("old")
    query_trace(rec, tmp_path, ON_CPU, "SELECT 1", status=1)
    assert (tmp_path / "t.json").read_text() == "old"


def test_odd_values_are_written(rec, tmp_path):
    """Nulls, huge numbers, empty columns and other columns."""
    t, _ = one(rec, tmp_path, """'complete' AS event, NULL AS name, 2147483647 AS pid, NULL AS tid, 1 AS start, 9223372036854770 AS duration, NULL AS kind,
        9223372036854775807 AS amount, -1::TINYINT AS rate, [] AS stack, NULL::UBIGINT[] AS end_stack, 18446744073709551615::UBIGINT AS address, [1, 2] AS list,
        NULL AS "null", 'x' AS "odd ""name\"""")
    (e,) = t.complete
    assert e["name"] == "[no name]" and e["tid"] == e["pid"] == 2147483647 and "cat" not in e and "sf" not in e
    assert e["args"] == {"amount": 2**63 - 1, "rate": -1, "address": "18446744073709551615", "list": "[1, 2]", 'odd "name': "x"}


def test_frames_without_names_and_ids_without_frames_are_drawn(tmp_path):
    b = Batch().profile(1, [dict(name=None, address=0, offset=0x1234, module="/lib/libx.so", build_id=None, file_offset=None), *names(ODD)])
    t, _ = query_trace(b.write(tmp_path / "r"), tmp_path, """SELECT 'instant' AS event, 'x' AS name, 1 AS pid, 0 AS timestamp,
        [NULL, ustack_id, 77] AS stack, [77::UBIGINT] AS end_stack FROM events""")
    assert t.instants[0]["args"] == {"stack": ["libx.so+0x1234", ODD]}


def test_parameters_are_replaced_and_queries_are_found(rec, tmp_path):
    q = tmp_path / "q.sql"
    q.write_text(f"SET VARIABLE x = 1; {RSS} AND command = '?command'")
    run("trace", q, "-c", "prog", "-r", rec, "--output", tmp_path / "t.json")
    assert len(Trace(tmp_path / "t.json").counters) == 2
    assert "?command" in run("trace", q, "-r", rec, status=2).stderr
    assert "no such command; commands in" in run("trace", q, "-c", "nobody", "-r", rec, "--output", tmp_path / "t.json", status=1).stderr


def test_integers_divide_as_integers(rec, tmp_path):
    t, _ = one(rec, tmp_path, "'counter' AS event, 'x' AS name, 1 AS pid, 7 / 2 AS timestamp, 7 / 2 AS amount")
    assert t.counters[0]["args"] == {"amount": 3}


def test_a_query_without_rows_among_others_is_reported(rec, tmp_path):
    t, said = query_trace(rec, tmp_path, ON_CPU, f"{RSS} AND false")
    assert len(t.complete) == 2 and "q1.sql: no row of its result is in the trace" in said


def test_losses_are_reported(tmp_path):
    b = Batch().add("rss", 1, amount=5).add("lost", 2, amount=7, lost_kind="rss", reason="ring_full", tgid=0, pid=0)
    t, said = query_trace(b.write(tmp_path / "r"), tmp_path, RSS)
    assert "7 events were lost" in said and t.json["otherData"]["lost_events"] == "7"


def test_traces_are_numbered_or_go_to_the_output(rec, tmp_path):
    q = tmp_path / "q.sql"
    q.write_text(ON_CPU)
    out = tmp_path / "out"
    out.mkdir()
    for name in ("traceview-4.json", "pprof-9.pb.gz", "traceview-7.json.gz"):
        (out / name).write_text("")
    assert f"wrote {out}/traceview-5.json" in run("trace", q, "-r", rec, "-d", out).stderr
    assert Trace(out / "traceview-5.json").complete
    run("trace", q, "-r", rec, env={**os.environ, "HOME": str(tmp_path)})
    assert Trace(tmp_path / "stacks_export_data" / "traceview-1.json").complete
    run("trace", q, "-r", rec, "--output", out / "t.json.gz")
    assert gzip.decompress((out / "t.json.gz").read_bytes()) == (out / "traceview-5.json").read_bytes()
    assert perfetto(out / "t.json.gz", "SELECT count(*) FROM slice") == [[[2]]]
    p = run("trace", q, "-n", "-r", rec, "--output", "-", text=False)
    assert p.stdout == (out / "traceview-5.json").read_bytes() and b"wrote" not in p.stderr
    with open("/dev/full", "w") as full:
        p = subprocess.run([EXPORT, "trace", q, "-r", rec, "--output", "-"], stdout=full, stderr=subprocess.PIPE, text=True, cwd="/")
    assert p.returncode == 1 and "No space left" in p.stderr


def test_wrong_calls_are_refused(rec, tmp_path):
    assert "query is missing" in run("trace", "-r", rec, status=2).stderr
    assert "give one" in run("trace", "x.sql", "-d", "a", "--output", "b", "-r", rec, status=2).stderr
    assert "does not take --inlined" in run("trace", "x.sql", "-i", "-r", rec, status=2).stderr
    assert "no query file x.sql" in run("trace", "x.sql", "-r", rec, status=1).stderr


def test_many_events_are_written_in_time(tmp_path):
    """A hundred thousand events with stacks: nothing is quadratic."""
    rec = Batch().profile(1, names("f", "main")).write(tmp_path / "r")
    t, _ = query_trace(rec, tmp_path, """SELECT 'complete' AS event, 'x' AS name, i % 50 AS pid, i % 50 * 10 + i % 3 AS tid, i AS start, 40 + i % 7 AS duration,
        [(SELECT any_value(ustack_id) FROM events)] AS stack FROM range(100000) t(i)""", output="t.json.gz")
    assert len(t.complete) == 100_000 and len(t.frames) == 2
