# SPDX-License-Identifier: GPL-2.0-or-later
"""sql/tables/: every query runs on a recording with known answers, in stacksexport and in a newer DuckDB."""
import json
import subprocess

import duckdb
import pytest

from conftest import EXPORT, ROOT
from recordings import SECOND, START, Batch, kernel, names

SQL = ROOT / "sql"
QUERIES = sorted((SQL / "tables").glob("*.sql"))
MS = 1_000_000
IO, LOCK = names("io", "main"), names("lock", "main")


def shell(rec, query):
    db = duckdb.connect()
    db.execute(f"SET VARIABLE recording = '{rec}'")
    db.execute((SQL / "stacks.sql").read_text())
    cursor = db.execute((SQL / "tables" / f"{query}.sql").read_text().replace("'?command'", "NULL").replace("'?buildid'", "NULL::VARCHAR"))
    return [d[0] for d in cursor.description], cursor.fetchall()


def plain(value):
    """Stacks as their functions, decimals as numbers."""
    if isinstance(value, list):
        return "<".join(f["name"] for f in value)
    return value if value is None or isinstance(value, (str, int)) else float(value)


def table(rec, query, *columns, args=()):
    """The rows of the query, reduced to these columns."""
    p = subprocess.run([EXPORT, "query", "-f", f"{query}.sql", *map(str, args), "-r", rec, "--format", "json"], capture_output=True, text=True,
                       timeout=60, cwd="/")
    assert p.returncode == 0, p.stderr
    ours = [[plain(v) for v in row.values()] for row in json.loads(p.stdout)]
    if not args:
        header, theirs = shell(rec, query)
        assert ours == [[plain(v) for v in row] for row in theirs]
    return [tuple(plain(row[c]) for c in columns) for row in json.loads(p.stdout)]


def cost(b):
    b.add("profile", 1, names("f", "f", "main"), duration=100 * MS, weight=2)
    b.add("profile", 2, names("main"), kernel("copy"), duration=50 * MS)
    b.add("profile", 3, duration=10 * MS)
    b.slice(0, 100 * MS, "sleeping", names("wait", "main"), kernel("schedule"), pid=7).slice(400 * MS, 500 * MS, "dead", pid=7, runnable=100 * MS)
    b.slice(0, 100 * MS, "idle", None, kernel("worker"), pid=8).slice(900 * MS, 900 * MS, "dead", pid=8)
    b.add("blk_read", 5, names("read", "main"), duration=30 * MS, amount=9, weight=2).add("vfs_read", 5, names("read", "main"), duration=31 * MS)
    b.add("tcp_recv", 6, names("recv", "main"), duration=20 * MS).add("tcp_connect", 6, names("recv", "main"), duration=5 * MS)
    b.add("rss", 1, names("f", "main"), amount=10).add("rss", 2, names("malloc", "main"), amount=4106).add("rss", 3, names("f", "main"), amount=6)
    return b


@pytest.fixture
def blocks(tmp_path):
    """Every second one block of leak() stays, and one of churn() is freed after 10 ms."""
    b = Batch()
    for i in range(1, 9):
        b.add("alloc", i * SECOND, names("malloc", "leak"), amount=1000, weight=10, id=i)
        b.add("alloc", i * SECOND, names("malloc", "churn"), amount=500, weight=5, id=100 + i)
        b.add("free", i * SECOND + 10 * MS, names("free", "churn"), amount=500, weight=5, id=100 + i, duration=10 * MS)
    return b.write(tmp_path / "r")


def test_ages_of_blocks(blocks):
    assert table(blocks, "alloc_ages", "up_to_s", "blocks", "bytes") == [(0.01, 40, 4000), (None, 80, 8000)]


def test_a_leak_grows_in_each_quarter(blocks):
    assert table(blocks, "alloc_over_time", "quarter_1", "quarter_2", "quarter_3", "quarter_4", "stack") == [
        (2000, 4000, 6000, 8000, "malloc < leak")]


def test_time_by_stack_sums_every_cost(tmp_path):
    rec = cost(Batch()).write(tmp_path / "r")
    rows = table(rec, "time_by_stack", "function", "cpu_s", "blocked_s", "runnable_s", "self_s", "disk_s", "net_s", "rss_growth", "rss_touched")
    assert rows == [
        ("main", 0.25, 0.2, 0.1, 0.05, 0.06, 0.025, -4, 4096),
        ("wait", 0, 0.2, 0.1, 0.3, 0, 0, 0, 0),
        ("f", 0.2, 0, 0, 0.2, 0, 0, -4100, 0),
        ("[no stack]", 0.01, 0, 0, 0.01, 0, 0, 0, 0),
        ("malloc", 0, 0, 0, 0, 0, 0, 4096, 4096),
        ("read", 0, 0, 0, 0, 0.06, 0, 0, 0),
        ("recv", 0, 0, 0, 0, 0, 0.025, 0, 0),
    ]


def test_processes_have_their_command_lines_and_containers(tmp_path):
    """A process id that is used again belongs to the process that started last."""
    pod, unit = f"/kubepods/pod1/{'0a1b2c3d4e5f' + '0' * 52}", "/system.slice/ssh.service"
    b = Batch()
    b.process(0, command_line="server -p 1", cgroup=pod).process(0, start=START + 5000 * MS, command_line="later", cgroup=unit)
    b.add("profile", 1, names("f"), duration=100 * MS, cgroup=pod).add("profile", 6000 * MS, names("f"), duration=50 * MS, cgroup=unit)
    b.add("profile", 2, names("f"), duration=10 * MS, tgid=7)
    b.slice(0, 100 * MS, "sleeping", names("wait"), pid=7, tgid=7).slice(400 * MS, 500 * MS, "dead", pid=7, tgid=7, runnable=100 * MS)
    b.add("blk_read", 5, names("f"), amount=9, weight=2, cgroup=pod).add("tcp_send", 5, names("f"), amount=5, cgroup=pod)
    rec = b.write(tmp_path / "r")
    assert table(rec, "processes", "cpu_s", "runnable_s", "blocked_s", "pid", "user", "container", "unit", "command", "command_line") == [
        (0.1, 0, 0, 100, "root", "0a1b2c3d4e5f", None, "prog", "server -p 1"),
        (0.05, 0, 0, 100, "root", None, "ssh.service", "prog", "later"),
        (0.01, 0.1, 0.2, 7, None, None, None, "prog", None),
    ]
    assert table(rec, "containers", "container", "unit", "cpu_s", "runnable_s", "blocked_s", "disk_bytes", "net_bytes", "processes") == [
        ("0a1b2c3d4e5f", None, 0.1, 0, 0, 18, 5, 1),
        (None, "ssh.service", 0.05, 0, 0, 0, 0, 1),
        (None, None, 0.01, 0.1, 0.2, 0, 0, 1),
    ]


def test_copies_that_the_compiler_made_are_one_function(tmp_path):
    copies = "f.constprop.0", "f.isra.0.cold", "f", "g(int) [clone .part.3]", "main.part", "h.cold.x"
    b = Batch()
    for at, name in enumerate(copies):
        b.profile(at, names(name))
    rec = b.write(tmp_path / "r")
    assert sorted(f for f, in table(rec, "time_by_stack", "function")) == ["f", "g(int)", "h.cold.x", "main.part"]


def test_queries_select_a_command_or_a_program(tmp_path):
    b = Batch().profile(1, names("f"), command="other").profile(2, names("g"), buildid=b"\x99")
    rec = b.write(tmp_path / "r")
    assert table(rec, "time_by_stack", "function", args=["-c", "other"]) == [("f",)]
    assert {f for f, in table(rec, "time_by_stack", "function")} == {"f", "g"}


def test_why_off_cpu_names_the_wakers(tmp_path):
    b = Batch()
    for i in range(2):
        b.slice(i * 1000 * MS, i * 1000 * MS + 100 * MS, "sleeping", LOCK, kernel("schedule"), pid=7, runnable=50 * MS if i else None)
        b.add("wake", i * 1000 * MS + 900 * MS, names("unlock", "other"), pid=9, target=7, command="holder")
    b.slice(0, 1, "sleeping", IO, pid=6).slice(10 * MS, 10 * MS, "dead", pid=6).add("wake", 9 * MS, None, kernel("timer"), tgid=0, pid=0, target=6, command="")
    b.slice(2000 * MS, 2100 * MS, "preempted", IO, pid=7, runnable=50 * MS).slice(2200 * MS, 2200 * MS, "dead", pid=7, runnable=100 * MS)
    b.slice(0, 1, "idle", pid=8).slice(5000 * MS, 5000 * MS, "dead", pid=8)
    rows = table(b.write(tmp_path / "r"), "why_off_cpu", "command", "state", "count", "offcpu_s", "blocked_s", "runnable_s", "slept", "woken_by", "woke")
    assert rows == [("prog", "sleeping", 2, 1.8, 1.7, 0.1, "lock<main", "holder", "unlock<other"), ("prog", "preempted", 1, 0.1, 0, 0.1, "io<main", "", None),
                    ("prog", "sleeping", 1, 0.01, 0.01, 0, "io<main", "[interrupt]", "timer")]


@pytest.fixture
def spans(tmp_path):
    """Times in ms. Thread 7: a request from 500 to 2800 with a query from 900 to 1700 in it. Thread 8 is stuck in a span. A
    task is polled twice, on thread 9."""
    b = Batch()
    request, query = dict(pid=7, span_id=1, trace_name="request"), dict(pid=7, span_id=2, trace_name="query", parent_id=1)
    b.slice(0, 1000 * MS, "sleeping", IO, **query)
    b.slice(1600 * MS, 2000 * MS, "sleeping", LOCK, runnable=100 * MS, **request)
    b.slice(2300 * MS, 3000 * MS, "dead", pid=7, runnable=0)
    b.add("vfs_read", 1680 * MS, names("read", "main"), duration=30 * MS, amount=4096, file="data", **query)
    b.add("vfs_read", 2900 * MS, names("read", "main"), duration=30 * MS, amount=4096, file="late", pid=7)
    b.add("trace_exit", 1700 * MS, duration=800 * MS, **query).add("trace_close", 1700 * MS, duration=800 * MS, **query)
    b.add("trace_exit", 2800 * MS, duration=2300 * MS, **request).add("trace_close", 2800 * MS, duration=2300 * MS, **request)
    b.slice(0, 100 * MS, "sleeping", names("deadlock"), pid=8, span_id=3, trace_name="stuck").slice(10_000 * MS, 10_000 * MS, "waiting", pid=8)
    task = dict(pid=9, span_id=4, trace_name="task")
    b.add("trace_exit", 1000 * MS, names("await", "main"), duration=100 * MS, **task)
    b.add("trace_exit", 3000 * MS, names("await", "main"), duration=500 * MS, **task).add("trace_close", 3000 * MS, duration=2100 * MS, **task)
    b.add("trace_exit", 3000 * MS, duration=500 * MS, pid=9, span_id=4, trace_name="task", tgid=555)  # another process
    b.add("trace_close", 3000 * MS, duration=500 * MS, pid=9, span_id=4, trace_name="task", tgid=555)
    return b.write(tmp_path / "r")


def test_span_breakdown_splits_the_time(spans):
    rows = table(spans, "span_breakdown", "span", "what", "seconds", "share %", "count", "stack")
    assert rows == [
        ("stuck", "blocked", 9.9, 100, 1, "deadlock"),
        ("task", "waiting", 1.5, 57.7, 1, "await<main"),
        ("task", "running", 1.1, 42.3, 3, None),
        ("request", "running", 1.4, 60.9, 1, None),
        ("request", "blocked", 0.5, 21.7, 1, "io<main"),
        ("request", "blocked", 0.3, 13.0, 1, "lock<main"),
        ("request", "runnable", 0.1, 4.3, 1, None),
        ("query", "blocked", 0.5, 62.5, 1, "io<main"),
        ("query", "running", 0.2, 25.0, 1, None),
        ("query", "runnable", 0.1, 12.5, 1, None),
    ]


def test_breakdown_handles_deep_and_broken_nests(tmp_path):
    """Five nested spans, then two that overlap, as after a loss: at least no time is invented."""
    b = Batch().slice(0, 500 * MS, "sleeping", LOCK, pid=7, span_id=5, trace_name="s5").slice(600 * MS, 3200 * MS, "sleeping", IO, pid=7, span_id=8, trace_name="s8")
    b.slice(3300 * MS, 9000 * MS, "dead", pid=7)
    for i in range(1, 6):
        b.add("trace_exit", (1000 - i) * MS, duration=(900 - 2 * i) * MS, pid=7, span_id=i, trace_name=f"s{i}")
    b.add("trace_exit", 3500 * MS, duration=500 * MS, pid=7, span_id=7, trace_name="s7").add("trace_exit", 4000 * MS, duration=900 * MS, pid=7, span_id=8, trace_name="s8")
    rows = {(s, w): t for s, w, t in table(b.write(tmp_path / "r"), "span_breakdown", "span", "what", "seconds")}
    for i in range(1, 6):
        assert rows[f"s{i}", "blocked"] == 0.1 and rows[f"s{i}", "running"] == pytest.approx(0.8 - 0.002 * i)
    assert rows.get(("s7", "blocked"), 0) + rows["s7", "running"] == pytest.approx(0.5)
    assert rows.get(("s8", "blocked"), 0) + rows["s8", "running"] == pytest.approx(0.9)


def test_slow_spans_ranks_and_splits_spans(spans):
    rows = table(spans, "slow_spans", "rank", "span", "span_s", "ended", "at_s", "what", "detail", "count", "seconds", "amount", "stack")
    assert sorted({r[:4] for r in rows}) == [
        (1, "stuck", 9.9, "open"), (2, "request", 2.3, "closed"), (3, "task", 2.1, "closed"), (4, "query", 0.8, "closed"), (5, "task", 0.5, "closed")]
    assert [r[4:] for r in rows if r[1] == "stuck"] == [(0, "blocked", "sleeping", 1, 9.9, None, "deadlock")]
    assert [r[4:] for r in rows if r[1] == "request"] == [
        (0, "enter", "", 1, 2.3, 0, None), (0.4, "span", "query", 1, 0.8, 0, None), (0.5, "blocked", "sleeping", 1, 0.5, None, "io<main"),
        (0.5, "runnable", "sleeping", 1, 0.1, None, "io<main"), (1.15, "vfs_read", "data", 1, 0.03, 4096, "read<main"), (1.5, "blocked", "sleeping", 1, 0.3, None, "lock<main")]
    assert [r[4:] for r in rows if r[1] == "query"] == [
        (0, "enter", "", 1, 0.8, 0, None), (0.1, "blocked", "sleeping", 1, 0.5, None, "io<main"), (0.1, "runnable", "sleeping", 1, 0.1, None, "io<main"),
        (0.75, "vfs_read", "data", 1, 0.03, 4096, "read<main")]
    assert [r[4:] for r in rows if r[:2] == (3, "task")] == [(0, "enter", "", 2, 0.6, 0, "await<main"), (0.1, "wait", "entered", 1, 1.5, None, "await<main")]


def test_slow_spans_tells_reused_ids_apart(tmp_path):
    b = Batch()
    for begin, end in ((0, 500), (1000, 1900)):
        b.add("trace_exit", end * MS, duration=(end - begin) * MS, span_id=1, trace_name="s").add("trace_close", end * MS, duration=(end - begin) * MS, span_id=1, trace_name="s")
        b.add("blk_read", (begin + 10) * MS, duration=5 * MS, device=f"sd{begin}", span_id=1)
    rows = table(b.write(tmp_path / "r"), "slow_spans", "rank", "span_s", "what", "detail")
    assert rows == [(1, 0.9, "enter", ""), (1, 0.9, "blk_read", "sd1000"), (2, 0.5, "enter", ""), (2, 0.5, "blk_read", "sd0")]


def test_slow_spans_caps_amounts_beyond_64_bits(tmp_path):
    """The amounts come from the program, which may report any value."""
    b = Batch()
    for at in (10, 20):
        b.add("trace_exit", at * MS, duration=5 * MS, span_id=1, trace_name="s", amount=2**63 - 1)
    rows = table(b.write(tmp_path / "r"), "slow_spans", "what", "amount")
    assert ("enter", 2**63 - 1) in rows


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_heads_state_the_question(path):
    head = [l for l in path.read_text().splitlines() if l.startswith("--")]
    assert head[0].endswith("?") and f"stacksexport query -f sql/tables/{path.name} [-c COMMAND] [-b PROGRAM]" in head[1]


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_queries_are_empty_without_their_sources(tmp_path, path):
    """An empty result is not an error in the query."""
    rec = Batch().add("lost", 1, amount=1, lost_kind="switch", tgid=0, pid=0).write(tmp_path / "r")
    p = subprocess.run([EXPORT, "query", "-f", path, "-r", rec], capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and "the result is empty" in p.stderr
