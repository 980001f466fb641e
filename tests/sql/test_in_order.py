# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of rows are found in one pass over ordered rows, and by windows and joins over others, with the same result."""
import random
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import EXPORT, ROOT
from recordings import Batch, names

VIEWS = ["offcpu", "wakeups", "span_waits"]
STACKS = [None, names("a", "main"), names("b", "main"), names("c", "a", "main")]
TEXTS = [None, "", "short", "twelve bytes", "a text that is too long to lie in a vector", "another text of more than twelve bytes"]
LAST = ("dead", "running", "waiting")


def export(rec, query, *args):
    return subprocess.run([EXPORT, "query", query, "-r", rec, *args], capture_output=True, text=True, timeout=120, cwd="/")


def passes(rec):
    """Whether this query pairs the rows in one pass."""
    p = export(rec, "SELECT * FROM following('SELECT 1::UBIGINT AS key, 1::BIGINT AS moment, 1::BIGINT AS begin, "
                    "false AS is_mark, false AS is_end, kind FROM events', 1)")
    assert p.returncode == 0 or "following" in p.stderr, p.stderr
    return p.returncode == 0


def differences(rec, tmp_path, view):
    """Rows that only stacksexport's view has, rows that only sql/stacks.sql's view has, and the number of common rows."""
    p = export(rec, f"FROM {view}", "--format", "parquet", "--output", tmp_path / f"{view}.parquet")
    assert p.returncode == 0, p.stderr
    db = duckdb.connect()
    db.execute(f"SET VARIABLE recording = '{rec}'")
    db.execute((ROOT / "sql/stacks.sql").read_text())
    db.execute(f"CREATE TABLE theirs AS FROM {view}")
    db.execute(f"CREATE TABLE ours AS SELECT {', '.join(d[0] for d in db.execute('FROM theirs').description)} FROM '{tmp_path}/{view}.parquet'")
    return [db.execute(f"SELECT count(*) FROM (FROM {a} EXCEPT ALL FROM {b})").fetchone()[0] for a, b in ("ours theirs".split(), "theirs ours".split())] + [
        db.execute("SELECT count(*) FROM theirs").fetchone()[0]]


class World:
    """Threads that run, wait, are woken, enter spans, end and reuse numbers. No two events have the same time."""

    def __init__(self, seed, threads, spans):
        self.random, self.now = random.Random(seed), 1_000_000
        self.slice_from = {pid: 0 for pid in range(1, threads + 1)}
        self.spans = {i: False for i in range(1, spans + 1)}

    def batch(self, events):
        b = Batch()
        for _ in range(events):
            self.now += self.random.randrange(1, 2000)
            self.random.choice([self.slice, self.slice, self.wake, self.span])(b)
        return b

    def fields(self):
        pick = self.random.choice
        return dict(command=pick(TEXTS[1:]), thread=pick(TEXTS), cgroup=pick(TEXTS), host=pick(["here", None, "a host with a long name"]),
                    runnable=pick([None, 0, 700, 10**9]), tgid=pick([1, 2]))

    def slice(self, b):
        pid = self.random.choice(list(self.slice_from))
        begin = self.random.randrange(self.slice_from[pid], self.now)
        state = self.random.choice(("sleeping", "preempted", "disk_sleep", None, *LAST[: self.random.randrange(4)]))
        b.slice(begin, self.now, state, self.random.choice(STACKS), pid=pid, gaps=self.random.choice([None, None, 100]), **self.fields())
        self.slice_from[pid] = self.now

    def wake(self, b):
        b.add("wake", self.now, self.random.choice(STACKS), pid=77, target=self.random.choice(list(self.slice_from)), **self.fields())

    def span(self, b):
        span = self.random.choice(list(self.spans))
        close = self.random.random() < 0.3
        b.add("trace_close" if close else "trace_exit", self.now, self.random.choice(STACKS), pid=self.random.choice(list(self.slice_from)), span_id=span,
              duration=self.random.randrange(0, 3000), trace_name=self.random.choice(TEXTS[1:]), **self.fields())


@pytest.mark.parametrize("seed, threads, spans, batches", [(1, 3, 3, 1), (2, 40, 200, 3), (3, 3000, 5000, 4)])
def test_one_pass_gives_what_windows_give(tmp_path, seed, threads, spans, batches):
    world = World(seed, threads, spans)
    for number in range(1, batches + 1):
        world.batch(8000).write(tmp_path / "r", number)
    assert passes(tmp_path / "r")
    for view in VIEWS:
        ours, theirs, both = differences(tmp_path / "r", tmp_path, view)
        assert (ours, theirs) == (0, 0) and both > 500, view


def swapped(world, folder):
    world.batch(2000).write(folder, 2)
    world.batch(2000).write(folder, 1)


def of_somebody(world, folder):
    world.batch(2000).write(folder, 1, metadata=None)


def one_of_somebody(world, folder):
    world.batch(2000).write(folder, 1)
    world.batch(2000).write(folder, 2, metadata={"stacks.other": "1"})


def change_second(world, folder, change):
    world.batch(2000).write(folder, 1)
    path = world.batch(2000).write(folder, 2) / "events-000002.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def of_fewer_columns(world, folder):
    change_second(world, folder, lambda t: t.drop(["gaps", "thread"]))


def of_another_type(world, folder):
    change_second(world, folder, lambda t: t.set_column(t.schema.get_field_index("runnable"), "runnable", pa.array([1] * len(t), pa.int8())))


@pytest.mark.parametrize("write", [swapped, of_somebody, one_of_somebody, of_fewer_columns, of_another_type], ids=lambda f: f.__name__)
def test_rows_without_a_known_order_are_sorted(tmp_path, write):
    write(World(4, 10, 10), tmp_path / "r")
    assert not passes(tmp_path / "r")
    for view in VIEWS:
        assert differences(tmp_path / "r", tmp_path, view)[:2] == [0, 0], view


def small_types(table):
    """Times as INT32, counted from the first."""
    first = min(table["timestamp"].to_pylist())
    at = table.schema.get_field_index("timestamp")
    return table.set_column(at, "timestamp", pa.array([t - first for t in table["timestamp"].to_pylist()], pa.int32()))


def other_columns(table):
    """A list column, a column with a reserved name, and a column with SQL as its name."""
    for name, value in [("list", [1, 2]), ("key", 7), ('x" FROM (SELECT 1) --', "x")]:
        table = table.append_column(name, pa.array([value] * len(table)))
    return table


def odd_metadata(table):
    return table.replace_schema_metadata({**table.schema.metadata, b"\xff": b"\xfe"})


@pytest.mark.parametrize("change", [small_types, other_columns, odd_metadata], ids=lambda f: f.__name__)
def test_foreign_files_with_an_order_are_read(tmp_path, change):
    path = World(7, 10, 10).batch(2000).write(tmp_path / "r") / "events-000001.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    assert passes(tmp_path / "r")
    for view in VIEWS:
        assert differences(tmp_path / "r", tmp_path, view)[:2] == [0, 0], view


def test_a_wrong_order_is_reported(tmp_path):
    path = World(8, 10, 10).batch(2000).write(tmp_path / "r") / "events-000001.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(list(reversed(range(len(table))))), path)
    assert passes(tmp_path / "r")
    for view in VIEWS:
        p = export(tmp_path / "r", f"FROM {view}")
        assert p.returncode == 1 and "not in the order of time" in p.stderr, view


def test_a_query_that_cannot_be_paired_is_reported(tmp_path):
    rec = World(5, 2, 2).batch(100).write(tmp_path / "r")
    for query, words in [("SELECT 1", "key"), ("SELEC", "syntax error"), ("SELECT [1] AS l", "numbers, texts and bytes"), ("FROM nowhere", "nowhere")]:
        p = export(rec, f"FROM following('{query}', 1)")
        assert p.returncode == 1 and words in p.stderr, p.stderr
    p = export(rec, "FROM following(NULL, 1)")
    assert p.returncode == 1 and "takes a query" in p.stderr, p.stderr


def test_a_query_may_stop_early(tmp_path):
    """A query that stops early does not wait for the remaining rows."""
    rec = World(6, 20, 20).batch(5000).write(tmp_path / "r")
    p = export(rec, "SELECT count(*) AS n FROM (FROM wakeups LIMIT 10)", "--format", "csv")
    assert p.returncode == 0 and p.stdout.splitlines() == ["n", "10"], p.stderr
