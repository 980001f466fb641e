# SPDX-License-Identifier: GPL-2.0-or-later
"""sql/pprof/: every query runs on a recording with known answers, in stacksexport and in a newer DuckDB."""
import re
import subprocess

import duckdb
import pytest

from exporter import Raw
from conftest import EXPORT, ROOT
from recordings import PERIOD, Batch, kernel, names

SQL = ROOT / "sql"
QUERIES = sorted((SQL / "pprof").glob("*.sql"))
END = 10_000  # ns, of the recording
LOCK, SCHEDULE, MAIN = names("lock", "main"), kernel("schedule"), names("f", "main")


@pytest.fixture(scope="module")
def program():
    """Any program with a build ID, and the build ID."""
    out = subprocess.run(["readelf", "-n", EXPORT], capture_output=True, text=True, check=True).stdout
    return EXPORT, bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", out)[1])


def cpu(b, mine, other):
    b.profile(0, names("f", "f", "main"), count=3, **mine)
    b.profile(5, names("f", "f", "main"), kernel("copy"), span_id=5, trace_name="req", **mine)
    b.profile(7, None, kernel("idle"), **other)


def switches(b, mine, other):
    span = dict(pid=7, span_id=5, trace_name="req", **mine)
    b.slice(0, 100, "sleeping", LOCK, SCHEDULE, **span)
    b.slice(300, 400, "preempted", MAIN, runnable=50, **span)
    b.slice(500, 600, "sleeping", LOCK, SCHEDULE, pid=7, runnable=100, **mine)
    b.slice(900, 910, "sleeping", LOCK, SCHEDULE, pid=7, **mine)
    b.add("wake", 930, None, kernel("timer"), pid=0, tgid=0, target=7, command="", buildid=b"")
    b.slice(940, 940, "waiting", pid=7, **mine)
    b.slice(0, 0, "sleeping", names("else"), pid=8, **other).slice(420, 430, "dead", pid=8, runnable=20, **other)
    b.add("wake", 50, names("early"), pid=9, target=7, **other)
    b.add("wake", 250, names("unlock", "worker"), kernel("try_to_wake"), pid=9, target=7, **other)
    b.add("wake", 400, names("notify", "main"), pid=7, target=8, **mine)


def amounts(b, mine, other):
    """Rows of each kind, plus one with a weight of three, plus one of another program."""
    def rows(kind, ustack, kstack=None, amount=100, duration=10, **fields):
        b.add(kind, 600, ustack, kstack, amount=amount, duration=duration, **fields, **mine)
        b.add(kind, 610, ustack, kstack, amount=amount, duration=duration, weight=3, **fields, **mine)
        b.add(kind, 620, ustack, kstack, amount=amount, duration=duration, **fields, **other)
    rows("blk_read", names("read", "main"))
    rows("blk_write", None, kernel("writeback"))
    rows("blk_flush", names("fsync", "main"), amount=0)
    rows("blk_discard", names("trim", "main"))
    for kind in ("vfs_read", "vfs_write", "tcp_send", "tcp_recv", "udp_send", "udp_recv", "tcp_connect"):
        rows(kind, names(kind, "main"))
    rows("tcp_retransmit", None, kernel("timer"), peer="10.0.0.1:80")
    b.add("tcp_retransmit", 630, None, None, amount=7, **mine)
    rows("fault", names("touch", "main"), address=0x1000)


def memory(b, mine, other):
    for at, amount in ((1, 100), (2, 350), (3, 200), (4, 260)):
        b.add("rss", at, names("malloc", "main"), amount=amount, weight=29, **mine)
    b.add("rss", 5, names("free", "main"), amount=200, **mine)
    for at, amount in ((1, 1000), (3, 1500)):
        b.add("rss", at, None, kernel("fill"), amount=amount, tgid=101, **mine)
        b.add("rss", at, names("malloc", "main"), amount=amount, tgid=102, **other)


def spans(b, mine, other):
    b.add("trace_exit", 1000, names("poll", "main"), duration=10, span_id=5, trace_name="req", **mine)
    b.add("trace_exit", 1500, names("poll", "main"), duration=100, span_id=5, trace_name="req", **mine)
    b.add("trace_close", 2000, duration=1010, span_id=5, trace_name="req", **mine)
    b.add("trace_exit", 1200, names("stuck", "main"), duration=10, span_id=5, trace_name="req", tgid=101, **mine)
    b.add("trace_exit", 1300, names("poll", "main"), duration=10, span_id=5, trace_name="req", tgid=102, **other)


def forks(b, mine, other):
    b.add("fork", 10, names("spawn", "main"), target=300, **mine).add("exit", 110, pid=300, tgid=300, **mine)
    b.add("fork", 200, names("spawn", "main"), target=300, **mine)  # the process id again, and this process lives on
    b.add("exit", END, **other)


def allocations(b, mine, other):
    """Block 1 lives on, block 2 is freed; the third is that of another command."""
    for at, (block, owner) in enumerate([(1, mine), (2, mine), (3, other)], 700):
        b.add("alloc", at, names("malloc", "leak", "main"), amount=100 * block, weight=2, id=block, **owner)
    b.add("free", 800, names("free", "main"), amount=200, weight=2, id=2, duration=99, **mine)


@pytest.fixture(scope="module")
def rec(tmp_path_factory, program):
    b, mine, other = Batch(), dict(buildid=program[1]), dict(command="other", buildid=b"")
    for part in (cpu, switches, amounts, memory, spans, forks, allocations):
        part(b, mine, other)
    return b.write(tmp_path_factory.mktemp("pprof") / "rec")


SLEPT = ("schedule", "lock", "main")
READ, WRITEBACK = ("read", "main"), ("writeback",)
EXPECTED = {
    "cpu_ustacks": {("f", "f", "main"): (4, 4 * PERIOD)},
    "cpu_stacks": {("f", "f", "main"): (3, 3 * PERIOD), ("copy", "f", "f", "main"): (1, PERIOD)},
    "offcpu_stacks": {SLEPT: (3, 530), ("f", "main"): (1, 100)},
    "offcpu_blocked_stacks": {SLEPT: (3, 480)},
    "offcpu_runnable_stacks": {SLEPT: (1, 50), ("f", "main"): (1, 100)},
    "why_off_cpu": {("worker", "unlock", "try_to_wake", "woken by other", *SLEPT): (1, 200), ("f", "main"): (1, 100), SLEPT: (1, 300),
                    ("timer", "woken by an interrupt", *SLEPT): (1, 30)},
    "wake_wakers": {("try_to_wake", "unlock", "worker", "woken by other"): (1, 150), ("timer", "woken by an interrupt"): (1, 30)},
    "wake_woken": {("wakes other", "notify", "main"): (1, 400)},
    "span_time": {(*SLEPT, "blocked", "req"): (1, 150), (*SLEPT, "runnable", "req"): (1, 50), ("f", "main", "runnable", "req"): (1, 100),
                  ("copy", "f", "f", "main", "running", "req"): (1, PERIOD)},
    "blk_ustack_amount": {READ: (4, 400), WRITEBACK: (4, 400)},
    "blk_ustack_duration": {READ: (4, 40), WRITEBACK: (4, 40), ("fsync", "main"): (4, 40), ("trim", "main"): (4, 40)},
    "vfs_read_amount": {("vfs_read", "main"): (4, 400)},
    "vfs_write_amount": {("vfs_write", "main"): (4, 400)},
    "net_ustack_tcp_bandwidth": {("tcp_send", "main"): (4, 400), ("tcp_recv", "main"): (4, 400)},
    "net_ustack_udp_bandwidth": {("udp_send", "main"): (4, 400), ("udp_recv", "main"): (4, 400)},
    "tcp_connect_ustacks": {("tcp_connect", "main"): (4, 40)},
    "tcp_retransmit_peers": {("timer", "10.0.0.1:80"): (2, 4), ("[unknown peer]",): (1, 1)},
    "fault_ustacks": {("touch", "main"): (4, 4 * 4096)},
    "alloc_live": {("malloc", "leak", "main"): (2, 100)},
    "alloc_churn": {("malloc", "leak", "main"): (4, 300)},
    "rss_ustacks_growth": {("malloc", "main"): (3, 160), ("free", "main"): (1, -60), ("fill",): (1, 500)},
    "rss_ustacks_touched": {("malloc", "main"): (2, 310), ("fill",): (1, 500)},
    "usdt_ustack_trace_wait": {("poll", "main", "req"): (2, 400 + 500), ("stuck", "main", "req"): (1, END - 1200)},
    "fork_ustacks": {("spawn", "main"): (100 + END - 200, 2)},
}


def shell(rec):
    db = duckdb.connect()
    db.execute(f"SET VARIABLE recording = '{rec}'")
    for file in ("stacks.sql", "datafusion.sql"):
        db.execute((SQL / file).read_text())
    return db


def names_of(db, stack):
    """The names of the frames of a stack: a list of frames, of stack ids, or of parts, as sql/stacks.sql makes them."""
    frames = lambda i: [f["name"] for (found,) in db.execute("SELECT frames FROM stacktraces WHERE stack_id = ?", [i]).fetchall() for f in found]
    names = []
    for part in stack or ():
        if not isinstance(part, dict):
            names += frames(part)
        elif "stack_id" in part:
            names += frames(part["stack_id"])[::-1 if part["reversed"] else 1] + [part["label"]] * (part["label"] is not None)
        else:
            names.append(part["name"])
    return tuple(names)


BY_COMMAND, BY_BUILDID, BY_BOTH = ("command",), ("buildid",), ("command", "buildid")
FORMER = {  # former names that do not follow from the present ones
    ("rss_ustacks_growth", BY_COMMAND): "ustack_rss_growth_for_command",
}


def name_of(path, given):
    """The name to call a query by: each former name, of one parameter, goes on working."""
    if given == BY_BOTH:
        return path.name
    return FORMER.get((path.stem, given), f"{path.stem}_for_{given[0]}")


def profile(rec, name, args, out):
    """The samples of the profile that stacksexport makes."""
    p = subprocess.run([EXPORT, "pprof", name, *args, "-r", rec, "--output", out], capture_output=True, text=True, timeout=60, cwd="/")
    assert p.returncode == 0, p.stderr
    return Raw(out).samples


@pytest.mark.parametrize("given", [BY_COMMAND, BY_BUILDID, BY_BOTH], ids="+".join)
@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_shipped_queries_give_the_known_answers(rec, path, given, program, tmp_path):
    """In stacksexport and in a newer DuckDB, with the same correct result."""
    args = [a for p in given for a in {"command": ["-c", "prog"], "buildid": ["-b", program[0]]}[p]]
    ours = profile(rec, name_of(path, given), args, tmp_path / "p")
    sql, db = path.read_text(), shell(rec)
    for name, value in ("command", "prog"), ("buildid", program[1].hex()):
        sql = sql.replace(f"?{name}", value) if name in given else sql.replace(f"'?{name}'", "NULL")
    theirs = {names_of(db, stack): (n, v) for stack, n, v in db.execute(sql).fetchall()}
    assert ours == theirs
    assert ours == EXPECTED[path.stem]


@pytest.mark.parametrize("query, stack", [("usdt_ustack_trace_wait", ("f", "s")), ("span_time", ("f", "running", "s"))])
def test_sums_of_more_than_64_bits_are_capped(tmp_path, query, stack):
    """Any user query may have such sums: they are capped at the largest value that can be shown."""
    b = Batch()
    for span in range(1, 7):
        b.add("trace_exit", 1, names("f"), span_id=span, trace_name="s").add("trace_exit", 2, None, span_id=span, duration=-19 * 10**17)
        b.add("profile", 3, names("f"), span_id=span, trace_name="s", duration=19 * 10**17)
    path = b.slice(0, 5, "waiting").write(tmp_path / "r")
    p = subprocess.run([EXPORT, "pprof", f"{query}_for_command.sql", "-c", "prog", "-r", path, "--output", tmp_path / "p"], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    assert Raw(tmp_path / "p").samples[stack] == (6, 2**63 - 1)


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_heads_state_the_question(path):
    head = [l for l in path.read_text().splitlines() if l.startswith("--")]
    assert head[0].endswith("?") or "?" in head[0]
    assert f"stacksexport pprof sql/pprof/{path.name}" in head[1]
    assert "count:" in "".join(head)


@pytest.mark.parametrize("path", QUERIES, ids=lambda p: p.stem)
def test_without_parameters_everything_counts(rec, path, tmp_path):
    everything = profile(rec, path.name, [], tmp_path / "p")
    assert sum(n for n, _ in everything.values()) >= sum(n for n, _ in EXPECTED[path.stem].values()) > 0


SHOWS_SPANS = [("pprof", "span_time"), ("pprof", "usdt_ustack_trace_wait"), ("query", "span_breakdown"),
               ("query", "slow_spans"), ("trace", "usdt_all"), ("trace", "usdt_slow_on_cpu_10ms"), ("trace", "usdt_wait_time_not_closed")]


@pytest.mark.parametrize("command, query", SHOWS_SPANS)
def test_spans_may_have_no_name(tmp_path, command, query):
    """A program may give a span an empty name."""
    ms = 10**6
    b = Batch().slice(0, 5 * ms, "sleeping", LOCK, span_id=1).slice(9 * ms, 60 * ms, "running")
    b.add("trace_exit", 30 * ms, MAIN, duration=29 * ms, span_id=1).add("trace_exit", 50 * ms, MAIN, duration=5 * ms, span_id=1)
    out = tmp_path / "out"
    args = ["-f", f"{query}.sql", "--format", "csv"] if command == "query" else [f"{query}.sql"]
    subprocess.run([EXPORT, command, *args, "-c", "prog", "-r", b.write(tmp_path / "r"), "--output", out], check=True, cwd="/")
    if command == "pprof":
        assert {stack[-1] for stack in Raw(out).samples} == {"[no name]"}
    else:
        assert "[no name]" in out.read_text()


def test_an_older_recording_without_marks_is_read(tmp_path):
    """Frames with fewer fields, some with labels."""
    rec = Batch().slice(0, 10, "sleeping", LOCK, pid=7).slice(50, 60, "dead", pid=7).add("wake", 40, MAIN, target=7).write(tmp_path / "r")
    db = shell(rec)
    (row,) = db.execute((SQL / "pprof/why_off_cpu.sql").read_text().replace("'?command'", "NULL").replace("'?buildid'", "NULL")).fetchall()
    assert names_of(db, row[0]) == ("main", "f", "woken by prog", "lock", "main")
    ((frames,),) = db.execute("SELECT list_concat(as_frames(frames), label('waits')) FROM stacktraces LIMIT 1").fetchall()
    assert frames[-1]["name"] == "waits"
