# SPDX-License-Identifier: GPL-2.0-or-later
"""sql/ in a DuckDB shell: the tables, off-CPU time and the reason for its end, growing memory, waiting spans."""
import json
import pathlib
import subprocess

import duckdb
import pytest

from conftest import EXPORT, ROOT
from recordings import BUILD_ID, PERIOD, SECOND, START, Batch, event, kernel, names

SQL = ROOT / "sql"


def shell(rec, datafusion=False):
    """As the head of sql/stacks.sql describes, with DuckDB's Python module as the shell."""
    db = duckdb.connect()
    db.execute(f"SET VARIABLE recording = '{rec}'")
    db.execute((SQL / "stacks.sql").read_text())
    if datafusion:
        db.execute((SQL / "datafusion.sql").read_text())
    return db


def offcpu(batch, tmp_path, columns="state, offcpu_ns, blocked_ns, runnable_ns", order="timestamp"):
    return shell(batch.write(tmp_path / "rec")).execute(f"SELECT {columns} FROM offcpu ORDER BY {order}").fetchall()


# ---- tables --------------------------------------------------------------------------------------------------------


def test_tables_have_the_documented_columns(tmp_path):
    b = Batch().profile(1, names("f", "g"), kernel("k")).profile(2).add("lost", 3, amount=5, lost_kind="switch")
    db = shell(b.write(tmp_path / "r"))
    columns = [r[0] for r in db.execute("DESCRIBE stacks").fetchall()]
    assert columns == [r[0] for r in db.execute("DESCRIBE events").fetchall()] + ["ustack", "kstack"]
    assert columns[:13] == list(event("x"))[-13:] or set(event("x")) == set(columns[:-2])
    rows = db.execute("SELECT list_transform(ustack, lambda f: f.name), list_transform(kstack, lambda f: f.name) FROM stacks ORDER BY timestamp").fetchall()
    assert rows == [(["f", "g"], ["k"]), ([], []), ([], [])]
    assert db.execute("SELECT count(*) FROM stacks WHERE len(ustack) = 0").fetchone() == (2,)


def test_a_stack_of_many_batches_does_not_multiply_events(tmp_path):
    for n in (1, 2, 3):
        Batch().profile(n, names("f"), kernel("k")).write(tmp_path / "r", n)
    db = shell(tmp_path / "r")
    assert db.execute("SELECT count(*) FROM stacks").fetchone() == (3,)
    assert db.execute("SELECT count(*) FROM stacktraces").fetchone() == (2,)


def test_another_recording_without_reading_the_file_again(tmp_path):
    Batch().profile(1, count=2).write(tmp_path / "1")
    Batch().profile(1, count=5).write(tmp_path / "2")
    db = shell(tmp_path / "1")
    assert db.execute("SELECT count(*) FROM events").fetchone() == (2,)
    db.execute(f"SET VARIABLE recording = '{tmp_path}/*'")
    assert db.execute("SELECT count(*) FROM events").fetchone() == (7,)


def test_the_current_directory_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(Batch().profile(1).write(tmp_path / "r"))
    db = duckdb.connect()
    db.execute((SQL / "stacks.sql").read_text())
    assert db.execute("SELECT count(*) FROM stacks").fetchone() == (1,)


def test_batches_of_an_older_collector_are_read(tmp_path):
    """A column that an older batch lacks is null there."""
    Batch().profile(1).write(tmp_path / "r", 1)
    Batch().profile(2).write(tmp_path / "r", 2)
    db = duckdb.connect()
    old = tmp_path / "r" / "events-000001.parquet"
    db.execute(f"COPY (SELECT * EXCLUDE (reason) FROM '{old}') TO '{old}.new' (FORMAT parquet)")
    (tmp_path / "r" / "events-000001.parquet.new").rename(old)
    assert shell(tmp_path / "r").execute("SELECT reason FROM stacks").fetchall() == [(None,), (None,)]


def test_processes_are_as_their_newest_rows_say(tmp_path):
    """Also after an exec, and where a process id is used again."""
    pod = f"/system.slice/docker-{'0a1b2c3d4e5f' + '0' * 52}.scope"
    Batch().profile(1).process(5, command_line="sh run").process(1, tgid=7, start=None, command_line=None).write(tmp_path / "r", 1)
    Batch().profile(2).process(9, command_line="server", cgroup=pod).process(8, command_line="sh").process(3, start=START + SECOND, command_line="other").write(tmp_path / "r", 2)
    rows = [(7, None, None, None, None), (100, "server", START, "0a1b2c3d4e5f", "docker-0a1b2c3d4e5f" + "0" * 52 + ".scope"), (100, "other", START + SECOND, None, None)]
    query = "SELECT tgid, command_line, start, container, unit FROM processes ORDER BY tgid, start"
    assert shell(tmp_path / "r").execute(query).fetchall() == rows
    p = subprocess.run([EXPORT, "query", query, "-r", tmp_path / "r", "--format", "json"], capture_output=True, text=True, timeout=60)
    assert [tuple(r.values()) for r in json.loads(p.stdout)] == rows


def test_a_recording_without_processes_has_an_empty_table_of_them(tmp_path):
    Batch().profile(1).write(tmp_path / "old")
    assert shell(tmp_path / "old").execute("SELECT tgid, command_line, container FROM processes").fetchall() == []
    p = subprocess.run([EXPORT, "query", "SELECT count(*) AS n FROM processes", "-r", tmp_path / "old", "--format", "csv"], capture_output=True, text=True, timeout=60)
    assert p.stdout == "n\n0\n"


def test_macros_of_the_predecessor_work(tmp_path):
    db = shell(Batch().profile(1).write(tmp_path / "r"), datafusion=True)
    assert db.execute("SELECT empty([]), empty([1]), empty(NULL)").fetchone() == (True, False, True)
    assert db.execute("SELECT array_union([1, 2, 1], [2])").fetchone() == ([1, 2, 1, 2],)
    assert db.execute("SELECT array_union([], [2]), array_union([1], NULL)").fetchone() == ([2], [1])
    assert db.execute("SELECT decode('00FFab', 'hex'), decode('x'::BLOB)").fetchone() == (b"\x00\xff\xab", "x")
    with pytest.raises(duckdb.Error, match="hex"):
        db.execute("SELECT decode('eA==', 'base64')").fetchone()


# ---- off-CPU time --------------------------------------------------------------------------------------------------


def test_an_interval_lies_between_two_slices(tmp_path):
    b = Batch().slice(0, 10, "sleeping", names("wait")).slice(110, 150, "disk_sleep", runnable=30).slice(150, 160, "dead", runnable=0)
    assert offcpu(b, tmp_path) == [("sleeping", 100, 70, 30), ("disk_sleep", 0, 0, 0)]


def test_threads_are_apart(tmp_path):
    b = Batch()
    b.slice(0, 10, "sleeping", pid=1).slice(0, 20, "sleeping", pid=2).slice(50, 60, "dead", pid=2).slice(100, 110, "dead", pid=1)
    assert offcpu(b, tmp_path, "pid, offcpu_ns", "pid") == [(1, 90), (2, 30)]


def test_hosts_are_apart(tmp_path):
    b = Batch().slice(0, 10, "sleeping", host="a").slice(20, 30, "sleeping", host="b").slice(50, 60, "dead", host="a")
    assert offcpu(b, tmp_path, "host, offcpu_ns") == [("a", 40)]


def test_a_preempted_thread_waits_for_a_cpu(tmp_path):
    b = Batch().slice(0, 10, "preempted").slice(30, 40, "preempted", runnable=20).slice(60, 60, "waiting")
    assert offcpu(b, tmp_path) == [("preempted", 20, 0, 20), ("preempted", 20, 0, 20)]


def test_a_wake_up_that_was_not_seen_counts_as_blocked(tmp_path):
    b = Batch().slice(0, 10, "sleeping").slice(30, 40, "dead")
    assert offcpu(b, tmp_path) == [("sleeping", 20, 20, 0)]


def test_a_thread_that_never_ran_waited_all_the_time(tmp_path):
    b = Batch().slice(0, 0, "sleeping", names("deadlock")).slice(10 * SECOND, 10 * SECOND, "waiting")
    assert offcpu(b, tmp_path) == [("sleeping", 10 * SECOND, 10 * SECOND, 0)]


@pytest.mark.parametrize("state", ["dead", "running", "waiting"])
def test_an_exit_starts_no_interval(tmp_path, state):
    """The end of a thread may be followed by another recording or another thread with the same number."""
    b = Batch().slice(0, 10, state).slice(100, 110, "sleeping").slice(115, 120, "dead")
    assert offcpu(b, tmp_path) == [("sleeping", 5, 5, 0)]


def test_times_are_never_negative(tmp_path):
    """After lost events or a clock change, slices overlap and the waits are longer than the interval."""
    b = Batch().slice(0, 100, "sleeping").slice(50, 120, "sleeping", runnable=500).slice(130, 140, "dead", runnable=500)
    assert offcpu(b, tmp_path) == [("sleeping", 0, 0, 0), ("sleeping", 10, 0, 10)]


def test_gaps_are_counted_once(tmp_path):
    """Slices joined over gaps: 30 ns of gaps and 50 ns runnable in total, 20 of them before the slice."""
    b = Batch().slice(0, 10, "sleeping").slice(110, 200, "sleeping", gaps=30, runnable=50).slice(300, 310, "dead", runnable=0)
    rows = offcpu(b, tmp_path, "state, offcpu_ns, blocked_ns, runnable_ns, ustack_id", "state, timestamp")
    assert [r[:4] for r in rows] == [("gaps", 30, 0, 30), ("sleeping", 100, 80, 20), ("sleeping", 100, 100, 0)]
    assert rows[0][4] is None


# ---- wake-ups ------------------------------------------------------------------------------------------------------


def wakeups(batch, tmp_path):
    db = shell(batch.write(tmp_path / "rec"))
    return db.execute("SELECT timestamp, woken, waker_timestamp, waker_pid, waker_command, waker_kstack_id IS NULL FROM wakeups ORDER BY timestamp, state").fetchall()


def test_the_last_wake_up_ended_a_sleep(tmp_path):
    b = Batch().slice(0, 10, "sleeping", pid=7).slice(100, 110, "sleeping", pid=7, runnable=20).slice(200, 210, "dead", pid=7)
    for at, pid in ((5, 1), (50, 2), (80, 3), (105, 4)):  # before the sleep, twice during it, and while the thread ran
        b.add("wake", at, pid=pid, target=7, command="waker")
    b.add("wake", 85, pid=9, target=8).add("wake", 85, pid=9, target=7, host="there")
    assert wakeups(b, tmp_path) == [(START + 10, True, START + 80, 3, "waker", True), (START + 110, False, None, None, None, True)]


def test_wakeups_may_have_no_wake_rows(tmp_path):
    b = Batch().slice(0, 10, "preempted").slice(100, 110, "sleeping", gaps=5).slice(200, 210, "dead")
    assert {r[1:] for r in wakeups(b, tmp_path)} == {(False, None, None, None, True)}


def test_gaps_have_no_waker(tmp_path):
    b = Batch().slice(0, 10, "sleeping", pid=7).slice(100, 200, "dead", pid=7, gaps=50).add("wake", 150, target=7)
    assert [r[1] for r in wakeups(b, tmp_path)] == [False, False]


# ---- growth --------------------------------------------------------------------------------------------------------


def test_growth_is_per_process(tmp_path):
    b = Batch()
    for at, tgid, amount in ((1, 1, 100), (2, 2, 5000), (3, 1, 350), (4, 2, 4000), (5, 1, 200), (6, 1, 200)):
        b.add("rss", at, tgid=tgid, pid=tgid, amount=amount)
    b.add("rss", 4, tgid=1, pid=1, amount=7, host="there")
    db = shell(b.write(tmp_path / "rec"))
    assert db.execute("SELECT tgid, growth FROM rss WHERE host = 'here' ORDER BY timestamp").fetchall() == [(1, None), (2, None), (1, 250), (2, -1000), (1, -150), (1, 0)]


# ---- spans that wait -----------------------------------------------------------------------------------------------


def span_waits(batch, tmp_path):
    db = shell(batch.add("exit", 10_000).write(tmp_path / "rec"))
    return db.execute(f"SELECT timestamp - {START}, tgid, span_id, ended, wait_ns FROM span_waits ORDER BY ALL").fetchall()


def test_waits_lie_between_exit_and_enter(tmp_path):
    b = Batch()
    b.add("trace_exit", 1000, duration=10, span_id=5).add("trace_exit", 1500, duration=100, span_id=5).add("trace_close", 2000, duration=1010, span_id=5)
    assert span_waits(b, tmp_path) == [(1000, 100, 5, "entered", 400), (1500, 100, 5, "closed", 500)]


def test_a_span_closed_as_it_is_left_does_not_wait(tmp_path):
    b = Batch().add("trace_close", 1000, duration=10, span_id=5).add("trace_exit", 1000, duration=10, span_id=5)
    assert span_waits(b, tmp_path) == [(1000, 100, 5, "closed", 0)]


def test_spans_of_two_processes_are_two(tmp_path):
    b = Batch().add("trace_exit", 1000, span_id=5, tgid=1).add("trace_exit", 2000, duration=1, span_id=5, tgid=2).add("trace_close", 3000, span_id=5, tgid=2)
    assert span_waits(b, tmp_path) == [(1000, 1, 5, "open", 9000), (2000, 2, 5, "closed", 1000)]


def test_waits_are_never_negative(tmp_path):
    """Two threads in one span at the same time."""
    b = Batch().add("trace_exit", 1000, duration=900, span_id=5, pid=1).add("trace_exit", 1100, duration=1000, span_id=5, pid=2)
    assert span_waits(b, tmp_path) == [(1000, 100, 5, "entered", 0), (1100, 100, 5, "open", 8900)]


def test_an_id_that_is_used_again(tmp_path):
    b = Batch().add("trace_exit", 1000, span_id=5).add("trace_close", 1000, span_id=5).add("trace_exit", 5000, duration=10, span_id=5)
    assert span_waits(b, tmp_path) == [(1000, 100, 5, "closed", 0), (5000, 100, 5, "open", 5000)]


# ---- shipped files -------------------------------------------------------------------------------------------------


@pytest.fixture
def rec(tmp_path):
    b, mine = Batch(), dict(buildid=BUILD_ID)
    b.profile(0, names("f", "f", "main"), count=3, **mine)
    b.profile(5, names("f", "f", "main"), kernel("copy"), **mine)
    b.profile(7, None, kernel("idle"), command="other", buildid=b"")
    b.slice(0, 100, "sleeping", names("lock", "main"), kernel("schedule"), pid=7, **mine)
    b.slice(300, 400, "preempted", names("f", "main"), pid=7, runnable=50, **mine)
    b.slice(500, 600, "sleeping", names("lock", "main"), kernel("schedule"), pid=7, runnable=100, **mine)
    b.slice(900, 900, "waiting", pid=7, **mine)
    b.slice(0, 0, "sleeping", names("else"), pid=8, command="other").slice(1000, 1000, "waiting", pid=8, command="other")
    return b.write(tmp_path / "rec")


@pytest.mark.parametrize("path", sorted(SQL.rglob("*.sql")), ids=lambda p: p.stem)
def test_files_begin_with_their_purpose(path):
    text = path.read_text()
    assert text.startswith("-- ") and text.endswith("\n") and "\t" not in text
    assert max(map(len, text.splitlines())) <= 125


def number_functions(db):
    """What src/stacksexport/duck/functionids.h adds to DuckDB."""
    seen = {}
    frames = db.execute("SELECT typeof(frames) FROM stacktraces LIMIT 1").fetchall()[0][0]
    db.create_function("function_ids", lambda stack: [seen.setdefault((f["name"], pathlib.PurePath(f["module"]).name), len(seen) + 1) for f in stack],
                       [frames], "INTEGER[]")
    db.create_function("first_of_each", lambda ids: list(dict.fromkeys(ids)), ["INTEGER[]"], "INTEGER[]")
    db.create_function("waiting_of", lambda ids: [0, *ids[:1], 0, *ids], ["INTEGER[]"], "INTEGER[]")
    db.execute("CREATE TABLE seen(id INTEGER, name VARCHAR, module VARCHAR, works_for_caller BOOLEAN)")
    db.execute("CREATE MACRO functions_seen() AS TABLE FROM seen")
    db.execute("SELECT function_ids(frames) FROM stacktraces").fetchall()
    db.executemany("INSERT INTO seen VALUES (?, ?, ?, false)", [[i, *key] for key, i in seen.items()])


def test_top_runs_on_a_newer_duckdb_too(rec):
    db = shell(rec)
    number_functions(db)
    bases = ("cpu_samples", "offcpu_waits", "stack_functions", "waiting_functions", "sorted_waits")
    def unnamed(path):
        return path.read_text().replace("'?command'", "NULL").replace("'?buildid'", "NULL")
    for name in bases:
        db.execute(unnamed(SQL / "top" / f"{name}.sql"))
    for path in sorted((SQL / "top").glob("*.sql")):
        if path.stem not in bases:
            db.execute(unnamed(path)).fetchall()
    assert db.execute((SQL / "top" / "states.sql").read_text()).fetchall() == [(1450, 50, 3, "sleeping"), (0, 100, 1, "preempted")]
    db.execute(f"SET VARIABLE events_files = ['{rec}/events-000001.parquet']")
    assert db.execute((SQL / "recording.sql").read_text()).fetchall() == [(START - PERIOD, 1000 + PERIOD, PERIOD)]
    for name, row in ("lost", (0,)), ("named", (0, 0, 11)):
        assert db.execute(unnamed(SQL / f"{name}.sql")).fetchall() == [row]
    assert db.execute((SQL / "sources.sql").read_text()).fetchall() == []
    assert db.execute((SQL / "commands.sql").read_text()).fetchall() == [("prog", 8), ("other", 3)]
