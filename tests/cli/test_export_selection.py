# SPDX-License-Identifier: GPL-2.0-or-later
"""--from, --to and the other options that select a part of a recording, in every subcommand."""
import json
import shutil

import pytest

from exporter import Raw, run
from recordings import PERIOD, SECOND, START, Batch, kernel, names
from test_export_top import sections

SPAN = dict(span_id=7, trace_name="GET /")


@pytest.fixture(scope="module")
def waiting(tmp_path_factory):
    """One thread that sleeps from 10 s to 40 s of 60 s, and can run the last two of these; one that sleeps in turns."""
    b = Batch()
    b.slice(0, 10 * SECOND, "sleeping", names("long"), pid=1, tgid=1, command="one", thread="worker", cgroup="/a/b")
    b.slice(40 * SECOND, 60 * SECOND, "waiting", names("long"), pid=1, tgid=1, command="one", thread="worker", cgroup="/a/b", runnable=2 * SECOND)
    for at in range(0, 60, 10):
        b.slice(at * SECOND, (at + 4) * SECOND, "sleeping", names("turn"), pid=2, tgid=2, command="two", cgroup="/ab",
                **(SPAN if at < 30 else {}))
        b.profile((at + 1) * SECOND, names("run"), pid=2, tgid=2, command="two", cgroup="/ab")
    b.add("lost", 5 * SECOND, duration=SECOND, amount=3, lost_kind="switch", reason="ring_full", tgid=0, pid=0, command="")
    return b.write(tmp_path_factory.mktemp("selection") / "waiting")


def rows(rec, sql, *args):
    """The rows of a query, which has one at least."""
    return [tuple(r.values()) for r in json.loads(run("query", sql, "-r", rec, "--format", "json", *args).stdout)]


def waits(rec, *args):
    """{command: (intervals, blocked, runnable)} in seconds."""
    sql = "SELECT command, count(offcpu_ns)::INT, sum(blocked_ns) / 1e9, sum(runnable_ns) / 1e9 FROM offcpu GROUP BY ROLLUP(command)"
    return {r[0]: r[1:] for r in rows(rec, sql, *args) if r[0]}


@pytest.fixture(scope="module", params=["in order", "sorted"])
def recording(request, waiting, tmp_path_factory):
    """Both ways of pairing rows: files without the collector's key are sorted (sql/is_in_order.sql)."""
    if request.param == "in order":
        return waiting
    copy = shutil.copytree(waiting, tmp_path_factory.mktemp("sorted") / "waiting")
    Batch().add("exec", 1).write(copy, 2, metadata={})
    return copy


def test_a_wait_counts_with_the_part_that_lies_in_the_range(recording):
    assert waits(recording) == {"one": (1, 28, 2), "two": (5, 30, 0)}
    assert waits(recording, "--from", "20s", "--to", "30s")["one"] == (1, 10, 0), "it began before and ended after"
    assert waits(recording, "--from", "35s", "--to", "39s")["one"] == (1, 3, 1), "it is runnable at its end"
    assert "one" not in waits(recording, "--from", "45s")


def test_ranges_that_follow_each_other_add_up(recording):
    cuts = ["0", "7s", "24s", "38.5s", "-10s", "-0s"]
    parts = [waits(recording, "--from", a, "--to", b) for a, b in zip(cuts, cuts[1:], strict=False)]
    for command, (_, blocked, runnable) in waits(recording).items():
        found = [p[command] for p in parts if command in p]
        assert (sum(f[1] for f in found), sum(f[2] for f in found)) == (blocked, runnable)


def test_a_selection_makes_no_new_waits(recording):
    """Between two slices in the span lies one outside of it, if the others are left out."""
    assert waits(recording, "--span", "GET /") == {"two": (3, 18, 0)}
    assert waits(recording, "--span", "7") == {"two": (3, 18, 0)}
    assert waits(recording, "--kind", "switch") == waits(recording)
    assert rows(recording, "SELECT count(*)::INT FROM offcpu", "--kind", "profile") == [(0,)]


@pytest.mark.parametrize("args, commands", [
    (["--pid", "1"], {"one"}), (["--tid", "2"], {"two"}), (["--thread", "worker"], {"one"}), (["--thread", "two"], {"two"}),
    (["--cgroup", "/a"], {"one"}), (["--cgroup", "/a/"], {"one"}), (["--cgroup", "/a/b"], {"one"}), (["--cgroup", "/"], {"one", "two"}),
    (["-c", "two"], {"two"}), (["--host", "here"], {"one", "two"}), (["-c", "one", "--pid", "2"], set()),
    (["--thread", "' OR 1=1 --"], set()),
])
def test_events_and_waits_are_of_what_is_named(waiting, args, commands):
    assert set(waits(waiting, *args)) == commands
    assert set(rows(waiting, "SELECT list(DISTINCT command ORDER BY command) FROM events WHERE kind != 'lost'", *args)[0][0] or []) == commands


@pytest.mark.parametrize("start, end, cnt", [
    ("1s", "11s", 1), ("1s", "11.000000001s", 2), ("-25s", "-15s", 1), (START // SECOND + 21, START // SECOND + 32, 2),
    ("2023-11-14T22:13:41Z", "2023-11-14T22:13:51Z", 1),
])
def test_times_in_every_form(waiting, start, end, cnt):
    assert rows(waiting, "SELECT count(*)::INT FROM events WHERE kind = 'profile'", "--from", start, "--to", end) == [(cnt,)]


def test_every_subcommand_selects_the_same(waiting, tmp_path):
    args = ["-r", waiting, "--from", "20s", "--to", "30s", "--pid", "2"]
    (table,) = rows(waiting, "SELECT sum(blocked_ns) / 1e9 FROM offcpu", *args[2:])
    assert table == (6,)
    out = sections(run("top", *args).stdout)
    assert [r.split() for r in out["TIME BY COMMAND"][1:]] == [
        ["0.010", "100.0", "6.000", "0.000", "0.000", "two"], ["0.010", "100.0", "6.000", "0.000", "0.000", "(all)"]]
    assert "10.0 s from" in out[""][0] and "Lost events: 0" in out[""][-1]
    run("pprof", "offcpu_stacks.sql", *args, "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("turn",): (1, 6 * SECOND)}
    run("trace", "switch_with_stacks.sql", *args, "--output", tmp_path / "t.json")
    drawn = [e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert {(e["name"], e["dur"]) for e in drawn} == {("on CPU", 4e6), ("sleeping", 6e6)}


def test_a_wait_is_drawn_in_the_range(waiting, tmp_path):
    run("trace", "switch_with_stacks.sql", "-r", waiting, "--from", "20s", "--to", "30s", "-c", "one", "--output", tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())
    (e,) = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert (e["name"], e["ts"], e["dur"], trace["otherData"]["zero_unix_ns"]) == ("sleeping", 0, 10e6, str(START + 20 * SECOND))


def test_a_query_that_asks_for_the_command_says_itself_what_it_is_of(tmp_path):
    """The wakers of postgres are others than postgres: -c is not applied to their rows first."""
    b = Batch().slice(0, 10, "sleeping", names("sleep"), pid=1, command="asleep").slice(50, 60, "sleeping", pid=1, command="asleep")
    b.add("wake", 50, names("rouse"), pid=2, command="waker", target=1)
    rec = b.write(tmp_path / "r")
    run("pprof", "wake_woken.sql", "-r", rec, "-c", "waker", "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("wakes asleep", "rouse"): (1, 40)}


def test_growth_is_since_the_row_before_also_outside_of_the_range(tmp_path):
    b = Batch()
    for at, amount in ((1, 100), (2, 350), (3, 400), (4, 1000)):
        b.add("rss", at * SECOND, names("malloc"), amount=amount)
    rec = b.write(tmp_path / "r")
    assert rows(rec, "SELECT growth FROM rss ORDER BY timestamp", "--from", START // SECOND + 2, "--to", START // SECOND + 4) == [(250,), (50,)]


def test_a_profile_says_which_range_it_is_of(waiting, tmp_path):
    run("pprof", "cpu_ustacks.sql", "-r", waiting, "--from", "20s", "--to", "40s", "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert "Duration: 20s" in raw.head.replace("Duration: 20.00s", "Duration: 20s"), raw.head
    assert raw.samples == {("run",): (2, 2 * PERIOD)}


def test_lost_events_count_in_the_range(waiting):
    assert "Lost events: 3" in run("top", "-r", waiting, "--to", "10s").stdout
    assert "lost" in run("query", "SELECT 1", "-r", waiting, "--from", "0").stderr
    assert "lost" not in run("query", "SELECT 1", "-r", waiting, "--from", "10s").stderr


def test_a_selection_of_nothing_says_so(waiting):
    p = run("top", "-r", waiting, "--pid", "12345", "--from", "0", status=1)
    assert "--from 0 --pid 12345 selects no event" in p.stderr and "60.0 s from" in p.stderr
    p = run("pprof", "cpu_ustacks.sql", "-r", waiting, "--host", "elsewhere", "--output", "-", status=1)
    assert "--host elsewhere selects no event" in p.stderr


@pytest.mark.parametrize("args, words", [
    (["--from", "30"], "--from '30': expected a time such as 10s"), (["--to", "soon"], "--to 'soon'"),
    (["--pid", "x"], "--pid 'x': expected a number"), (["--tid", "-1"], "--tid '-1'"), (["--kind", "profil"], "--kind 'profil': expected a kind"),
])
def test_wrong_options(waiting, args, words):
    assert words in run("query", "SELECT 1", "-r", waiting, *args, status=2).stderr


def test_the_kernels_threads_and_gaps(tmp_path):
    """What lies inside of a slice (state gaps) is in the range if the slice's row is."""
    b = Batch().slice(0, 10 * SECOND, "sleeping", None, kernel("io_schedule"), gaps=4 * SECOND, runnable=SECOND)
    b.slice(20 * SECOND, 21 * SECOND, "waiting")
    rec = b.write(tmp_path / "r")
    sql = "SELECT state, offcpu_ns / 1e9, runnable_ns / 1e9 FROM offcpu ORDER BY 1"
    assert rows(rec, sql, "--from", "9s", "--to", "12s") == [("gaps", 4, 1), ("sleeping", 2, 0)]
    assert rows(rec, sql, "--from", "11s", "--to", "12s") == [("sleeping", 1, 0)]


GROUPS = {"command": {"one", "two"}, "process": {"one (1)", "two (2)"}, "thread": {"worker (1)", "two (2)"}, "cgroup": {"/a/b", "/ab"},
          "container": {"[no container]"}, "span": {"[no span]", "GET /"}, "host": {"here"}}


def folded(rec, *args):
    return [line.rsplit(" ", 1) for line in run("folded", "offcpu_stacks.sql", "-r", rec, *args).stdout.splitlines()]


@pytest.fixture(scope="module")
def offcpu_sum(recording):
    return sum(int(n) for _, n in folded(recording))


@pytest.mark.parametrize("by", GROUPS)
def test_profiles_have_groups_at_the_root(recording, offcpu_sum, by):
    """All time is in a group, however the rows are paired."""
    grouped = folded(recording, "--by", by)
    assert {stack.split(";")[0] for stack, _ in grouped} == GROUPS[by]
    assert sum(int(n) for _, n in grouped) == offcpu_sum


def test_many_groups_are_one(tmp_path):
    b = Batch()
    for tid in range(150):
        b.profile(tid, names("f"), pid=tid + 1, count=3 if tid < 100 else 1)
    text = run("folded", "cpu_ustacks.sql", "-r", b.write(tmp_path / "r"), "--by", "thread", "--sort", "value").stdout
    out = [line.split(";") for line in text.splitlines()]
    assert out[0] == ["[other]", f"f {50 * PERIOD}"]
    assert len(out) == 101 and ["[other]", f"f {50 * PERIOD}"] in out
    assert "expected command" in run("folded", "cpu_ustacks.sql", "-r", tmp_path / "r", "--by", "x", status=2).stderr


@pytest.mark.parametrize("by", GROUPS)
def test_tables_have_groups_and_an_order(waiting, by):
    out = json.loads(run("query", "-f", "costs_by_group.sql", "-r", waiting, "--by", by, "--sort", "blocked_s", "--format", "json").stdout)
    assert {row["group"] for row in out} >= GROUPS[by]
    blocked = [row["blocked_s"] for row in out]
    assert blocked == sorted(blocked, reverse=True) and sum(blocked) == pytest.approx(28 + 6 * 5)
    assert sum(row["cpu_s"] for row in out) == pytest.approx(6 * PERIOD / SECOND, abs=0.002)


def test_texts_are_sorted_and_columns_named(waiting):
    sql = "SELECT command, count(*) AS n FROM events GROUP BY ALL ORDER BY n"
    assert [r[0] for r in rows(waiting, sql, "--sort", "command")] == ["", "one", "two"]
    assert "--sort 'nothing': the result has the columns command, n" in run("query", sql, "-r", waiting, "--sort", "nothing", status=2).stderr


def test_timelines_have_groups(waiting, tmp_path):
    def of_trace(by):
        run("trace", "switch_with_stacks.sql", "-r", waiting, "--by", by, "--output", tmp_path / "t.json")
        return {e["args"]["name"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["name"] == "process_name"}
    assert of_trace("process") == {"one", "two"} and of_trace("cgroup") == {"/a/b: one", "/ab: two"}
    run("firefox", waiting, "--by", "cgroup", "-o", tmp_path / "f.json")
    threads = json.loads((tmp_path / "f.json").read_text())["threads"]
    assert {t["processName"] for t in threads} == {"/a/b: one", "/ab: two"}
    run("perfetto", waiting, "--by", "cgroup", "-o", tmp_path / "p")
    assert all(name in (tmp_path / "p").read_bytes() for name in (b"/a/b: one", b"/ab: two"))
    for command in ["trace", "switch_with_stacks.sql", "-r"], ["firefox"], ["perfetto"]:
        assert "a thread, which is in many spans" in run(*command, waiting, "--by", "span", status=2).stderr
    assert "expected command" in run("perfetto", waiting, "--by", "x", status=2).stderr
