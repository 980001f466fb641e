# SPDX-License-Identifier: GPL-2.0-or-later
"""sql/traceview/: every query runs on a recording with known answers, and all of them together in one trace."""
import subprocess

import duckdb
import pytest

from conftest import EXPORT, ROOT
from recordings import Batch, kernel, names
from traces import Trace

SQL = ROOT / "sql"
QUERIES = sorted((SQL / "traceview").glob("*.sql"))
MS = 1_000_000
MAIN, WAIT = names("f", "main"), names("wait", "main")
END = 100  # ms, of the recording


@pytest.fixture
def rec(tmp_path):
    """Times in ms; thread 7 of process 100."""
    b, span = Batch(), dict(pid=7, span_id=1, trace_name="task", id=5, amount=6)
    b.slice(0, 0, "sleeping", WAIT, kernel("schedule"), pid=7)
    b.slice(10 * MS, 30 * MS, "preempted", MAIN, pid=7, runnable=4 * MS).slice(35 * MS, END * MS, "running", pid=7, runnable=5 * MS)
    b.add("trace_exit", 15 * MS, WAIT, duration=4 * MS, **span).add("trace_exit", 40 * MS, WAIT, duration=20 * MS + 7, **span)
    b.add("trace_exit", 40 * MS + 1, WAIT, duration=1 * MS, pid=7, span_id=2, trace_name="closed")
    b.add("trace_close", 50 * MS, duration=11 * MS, pid=7, span_id=2, trace_name="closed")
    for at in (20, 22):  # they overlap
        b.add("blk_read", at * MS, MAIN, duration=5 * MS, amount=4096, device="sda", pid=7)
    b.add("vfs_open", 17 * MS, MAIN, duration=1 * MS, file="log", fs="ext4", pid=7)
    b.add("vfs_write", 21 * MS, MAIN, duration=3 * MS, amount=10, file="log", fs="ext4", pid=7)
    b.add("udp_recv", 22 * MS, MAIN, duration=1 * MS, amount=20, peer="[::1]:53", local="[::1]:9", pid=7)
    b.add("tcp_connect", 24 * MS, MAIN, duration=2 * MS, peer="10.0.0.1:80", reason="refused", pid=7)
    b.add("tcp_retransmit", 25 * MS, None, kernel("timer"), peer="10.0.0.1:80", tgid=0, pid=0, command="", buildid=b"")
    b.add("fork", 26 * MS, MAIN, target=8, pid=7).add("exit", 27 * MS, pid=8)
    b.add("rss", 5 * MS, MAIN, amount=100, pid=7).add("rss", 6 * MS, MAIN, amount=200, pid=7)
    b.add("rss", 6 * MS, MAIN, amount=7, tgid=200, pid=200, command="other")
    return b.write(tmp_path / "rec")


def trace(rec, tmp_path, *queries, args=()):
    p = subprocess.run([EXPORT, "trace", *(f"{q}.sql" for q in queries), *args, "-r", rec, "--output", tmp_path / "t.json"], capture_output=True, text=True,
                       timeout=60, cwd="/")
    assert p.returncode == 0 and "left out" not in p.stderr, p.stderr
    return Trace(tmp_path / "t.json")


def drawn(events):
    """(name, start and length in ms)"""
    return sorted((e["name"], e["ts"] / 1000, e.get("dur", 0) / 1000) for e in events)


def test_switch_with_stacks_draws_slices_and_waits(rec, tmp_path):
    t = trace(rec, tmp_path, "switch_with_stacks")
    assert drawn(t.complete) == [("on CPU", 10, 20), ("on CPU", 35, 65), ("preempted", 30, 5), ("sleeping", 0, 10)]
    by_begin = {e["ts"]: e for e in t.complete}
    assert by_begin[0]["args"] == {"runnable_us": "4000.000", "stack": ["schedule", "wait", "main"]}
    assert by_begin[10_000]["args"] == {"cpu": 0, "left_as": "preempted", "end_stack": ["f", "main"]}
    assert {e["tid"] for e in t.complete} == {7}, "they do not overlap"


def test_usdt_all_draws_every_span(rec, tmp_path):
    t = trace(rec, tmp_path, "usdt_all")
    begin = (15 - 4) * MS
    assert [(e["name"], round(e["ts"] * 1000) + begin, round(e["dur"] * 1000)) for e in t.complete] == [
        ("task", 11 * MS, 4 * MS), ("task", 20 * MS - 7, 20 * MS + 7), ("closed", 39 * MS + 1, 1 * MS)]
    assert drawn(t.instants) == [("close closed", 50 - 11, 0)]
    assert t.complete[0]["args"] == {"cpu": 0, "amount": 6, "span_id": "1", "parent_id": "0", "id": "5", "end_stack": ["wait", "main"]}


def test_usdt_slow_on_cpu_10ms_draws_slow_spans(rec, tmp_path):
    assert drawn(trace(rec, tmp_path, "usdt_slow_on_cpu_10ms").complete) == [("task", 0, 20.000007)]


def test_usdt_wait_time_not_closed_draws_open_waits(rec, tmp_path):
    t = trace(rec, tmp_path, "usdt_wait_time_not_closed")
    assert drawn(t.complete) == [("task", 0, END - 40)] and t.complete[0]["args"]["stack"] == ["wait", "main"]


def test_rss_counter_draws_memory(rec, tmp_path):
    t = trace(rec, tmp_path, "rss_counter")
    assert [(e["pid"], e["ts"], e["args"]) for e in t.counters] == [(100, 0, {"amount": 100}), (100, 1000, {"amount": 200}), (200, 1000, {"amount": 7})]
    assert [e["pid"] for e in trace(rec, tmp_path, "rss_counter", args=["-c", "other"]).counters] == [200]


def test_requests_and_calls_are_drawn(rec, tmp_path):
    assert drawn(trace(rec, tmp_path, "blk_all").complete) == [("blk_read sda", 0, 5), ("blk_read sda", 2, 5)]
    assert drawn(trace(rec, tmp_path, "vfs_all").complete) == [("vfs_open log", 0, 1), ("vfs_write log", 2, 3)]
    assert drawn(trace(rec, tmp_path, "net_all").complete) == [("udp_recv [::1]:53", 0, 1)]
    t = trace(rec, tmp_path, "tcp_all")
    assert drawn(t.complete) == [("tcp_connect 10.0.0.1:80", 0, 2)] and t.complete[0]["args"]["reason"] == "refused"
    assert drawn(t.instants) == [("tcp_retransmit 10.0.0.1:80", 3, 0)]
    assert drawn(trace(rec, tmp_path, "exec_all").instants) == [("exit", 1, 0), ("fork 8", 0, 0)]


def test_all_queries_fit_in_one_trace(rec, tmp_path):
    """Overlapping events are drawn on separate lines, and Perfetto accepts all of them."""
    t = trace(rec, tmp_path, *(q.stem for q in QUERIES))
    assert len(t.complete) == 4 + 3 + 1 + 1 + 2 + 2 + 1 + 1 and len(t.instants) == 1 + 1 + 2 and len(t.counters) == 3
    t.check_perfetto(tmp_path / "t.json")


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_queries_run_on_a_newer_duckdb(rec, path):
    db = duckdb.connect()
    db.execute(f"SET VARIABLE recording = '{rec}'")
    db.execute((SQL / "stacks.sql").read_text())
    assert db.execute(path.read_text().replace("'?command'", "NULL").replace("'?buildid'", "NULL::VARCHAR")).fetchall()


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_heads_state_the_question(path):
    head = [l for l in path.read_text().splitlines() if l.startswith("--")]
    assert head[0].endswith("?") and f"stacksexport trace sql/traceview/{path.name} [-c COMMAND] [-b PROGRAM]" in head[1]
