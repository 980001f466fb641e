# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of `stacksexport view` are those of top, pprof and SQL."""
import json
import subprocess

import pytest

from conftest import EXPORT
from exporter import Raw, run
from recordings import PERIOD, SECOND, START, Batch, names
from viewserver import MS, changing, rec, serve, server  # noqa: F401
from webclient import functions, paths


# ---- the numbers ----

SELECTIONS = [{}, {"command": "prog"}, {"from_": 500 * MS, "to": 1500 * MS}, {"from_": 333 * MS}, {"pid": 101}, {"thread": "t0"}, {"tgid": 200},
              {"cgroup": "/a"}, {"span": "query"}, {"command": "prog", "from_": 700 * MS, "to": 710 * MS}]

NOTHING = {"cpu": [{"span": "query"}, SELECTIONS[-1]], "offcpu": [{"pid": 101}, {"tgid": 200}, {"cgroup": "/a"}]}


def options(server, selection):
    """This selection for top, pprof and SQL; the page's times count from its beginning."""
    t0 = int(server.get("recording")["t0_ns"])
    out = []
    for key, value in selection.items():
        if key in ("from_", "to"):
            ns = t0 + value
            value = f"{ns // SECOND}.{ns % SECOND:09d}"
        out += [f"--{ {'from_': 'from', 'tgid': 'pid', 'pid': 'tid'}.get(key, key)}", str(value)]
    return out


def ask(rec, sql, *args):
    """Rows; an empty result is an error of `query`."""
    p = subprocess.run([EXPORT, "query", sql, "-r", rec, "--format", "json", *args], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0 or "the result is empty" in p.stderr, p.stderr
    return json.loads(p.stdout) if p.returncode == 0 else []


TOP = {
    "cpu": "SELECT function.name AS name, function.module AS module, self, total FROM ("
           "  SELECT function, sum(self) AS self, greatest(sum(total), sum(self)) AS total FROM ("
           "    SELECT function_of(list_concat(kstack, ustack)[1]) AS function, duration * weight AS self, 0 AS total FROM stacks WHERE kind = 'profile'"
           "    UNION ALL"
           "    SELECT unnest(list_distinct(list_transform(list_concat(kstack, ustack), lambda f: function_of(f)))), 0, duration * weight"
           "    FROM stacks WHERE kind = 'profile') GROUP BY ALL)",
    "offcpu": "SELECT function.name AS name, function.module AS module, self, total FROM ("
              "  SELECT function, sum(self) AS self, greatest(sum(total), sum(self)) AS total FROM ("
              "    SELECT function_of(s.frames[1]) AS function, offcpu_ns AS self, 0 AS total FROM offcpu o JOIN stacktraces s ON s.stack_id = o.ustack_id"
              "    UNION ALL"
              "    SELECT unnest(list_distinct(list_transform(s.frames, lambda f: function_of(f)))), 0, offcpu_ns"
              "    FROM offcpu o JOIN stacktraces s ON s.stack_id = o.ustack_id) GROUP BY ALL)",
}


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
@pytest.mark.parametrize("metric", ["cpu", "offcpu"])
def test_functions_are_those_of_sql(server, rec, metric, selection):
    page = functions(server.get("functions", metric=metric, **selection))
    rows = ask(rec, TOP[metric], *options(server, selection))
    assert page == {(r["module"], r["name"]): (r["self"], r["total"]) for r in rows if r["total"]}
    assert rows or selection in NOTHING[metric]


@pytest.mark.parametrize("selection", [{}, {"command": "prog"}, {"from_": 500 * MS, "to": 1500 * MS}], ids=str)
def test_functions_are_those_of_top(server, rec, selection):
    text = run("top", "-r", rec, "-N", 100, *options(server, selection)).stdout
    for metric, title, columns in (("cpu", "CPU TIME BY FUNCTION", 1), ("offcpu", "OFF-CPU TIME BY FUNCTION", 2)):
        top = {}
        for line in text.split(f"\n{title}\n")[1].split("\n\n")[0].splitlines()[1:-1]:
            w = line.split()
            own, total = sum(map(float, w[:columns])), float(w[columns + 1])
            known = top.setdefault((w[-2], w[-1]), [0, 0])
            known[0] += own
            known[1] += total
        page = functions(server.get("functions", metric=metric, **selection))
        assert page.keys() == top.keys()
        for key, (own, total) in page.items():
            assert top[key] == pytest.approx((own / 1e9, total / 1e9), abs=0.0021), key


@pytest.mark.parametrize("metric, query", [("cpu", "cpu_stacks"), ("offcpu", "offcpu_stacks")])
@pytest.mark.parametrize("selection", [{}, {"command": "prog"}, {"from_": 333 * MS, "to": 1111 * MS}], ids=str)
def test_the_flame_graph_is_that_of_pprof(server, rec, tmp_path, metric, query, selection):
    run("pprof", f"sql/pprof/{query}.sql", "-r", rec, "--output", tmp_path / "p.pb.gz", *options(server, selection))
    profile = Raw(tmp_path / "p.pb.gz")
    flame = server.get("flame", metric=metric, **selection)
    assert paths(flame) == {tuple(reversed(stack)): values[1] for stack, values in profile.samples.items()}
    assert flame["total"] == sum(values[1] for values in profile.samples.values())


def test_wall_clock_time_is_cpu_and_off_cpu_time_by_state(server):
    wall = server.get("flame", metric="wall")
    assert wall["states"] == ["cpu", "blocked", "runnable"]
    by_state = {}
    for path, value in paths(wall).items():
        by_state[path[-1]] = by_state.get(path[-1], 0) + value
    assert by_state == {"[on CPU]": 43 * PERIOD, "[blocked]": 19 * 75 * MS, "[runnable]": 19 * 5 * MS}
    n = wall["nodes"]
    assert {wall["names"][n["name"][i]]: s for i, s in enumerate(n["state"]) if s >= 0} == {"[on CPU]": 0, "[blocked]": 1, "[runnable]": 2}
    assert wall["total"] == server.get("flame", metric="cpu")["total"] + server.get("flame", metric="offcpu")["total"]


@pytest.mark.parametrize("metric, unit, sums", [
    ("disk", "ns", {("main", "read"): 10 * MS}), ("files", "ns", {("main", "write"): 4 * MS}), ("net", "bytes", {("main", "send"): 2000}),
    ("faults", "count", {("main", "touch"): 20}), ("wakeups", "count", {("main", "unlock"): 20}), ("rss", "bytes", {("main", "grow"): 4096}),
])
def test_other_metrics(server, metric, unit, sums):
    flame = server.get("flame", metric=metric)
    assert flame["unit"] == unit and paths(flame) == sums


@pytest.mark.parametrize("root, roots", [
    ("process", {"prog (100)", "other (200)"}), ("thread", {"t0 (100)", "t1 (101)", "other (200)"}), ("cgroup", {"/a", "/a/b", "/ab"}),
    ("host", {"here"}), ("span", {"[no span]"}), ("none", {"main"}),
])
def test_a_tree_has_a_root_for_each(server, root, roots):
    flame = server.get("flame", metric="cpu", root=root)
    assert {path[0] for path in paths(flame)} == roots
    assert flame["total"] == 43 * PERIOD


def test_time_in_spans(server):
    assert {path[0] for path in paths(server.get("flame", metric="spans"))} == {"query"}


def test_frames_are_hidden_and_merged(server):
    assert {p for p in paths(server.get("flame", metric="cpu", hide="kernel"))} == {("main", "work", "hot"), ("main", "rec", "rec")}
    assert set(paths(server.get("flame", metric="cpu", merge="module"))) == {("prog",), ("prog", "[kernel]")}
    kinds = server.get("flame", metric="cpu")
    assert {kinds["names"][n] for n, k in zip(kinds["nodes"]["name"], kinds["nodes"]["kind"]) if k == 1} == {"copy", "entry"}


def test_callers_and_callees(server):
    s = server.get("sandwich", metric="cpu", name="work", module="prog")
    assert paths(s["callers"]) == {("work", "main"): 40 * PERIOD}
    assert paths(s["callees"]) == {("work", "hot"): 30 * PERIOD, ("work", "hot", "entry", "copy"): 10 * PERIOD}
    s = server.get("sandwich", metric="cpu", name="rec", module="prog")
    assert s["callers"]["total"] == s["callees"]["total"] == 3 * PERIOD, "a recursion counts once"
    assert server.get("sandwich", metric="cpu", name="nothing")["callees"]["total"] == 0


def test_small_nodes_are_in_their_callers(serve, tmp_path):
    b = Batch()
    b.profile(0, names("large", "main"), count=2000, weight=10)
    for i in range(20):
        b.profile(5000 + i, names(f"small{i}", "main"))
    s = serve(b.write(tmp_path / "small"))
    flame = s.get("flame", metric="cpu")
    assert paths(flame) == {("main",): 20 * PERIOD, ("main", "large"): 20000 * PERIOD}
    assert flame["dropped"] == {"nodes": 20, "value": 20 * PERIOD}
    few = s.get("flame", metric="cpu", limit=1)
    assert paths(few) == {("main",): 20020 * PERIOD} and few["dropped"]["nodes"] == 21


def test_waits_and_wakers(server):
    rows = server.get("waits")["rows"]
    assert [(r["command"], r["state"], r["where"], r["caller"], r["count"], r["sum"], r["p50"], r["max"]) for r in rows] == [
        ("prog", "disk_sleep", "lock", "", 10, 800 * MS, 80 * MS, 80 * MS),
        ("prog", "sleeping", "lock", "", 9, 720 * MS, 80 * MS, 80 * MS)]
    frames = server.get("stack", id=rows[0]["stack"])["frames"]
    assert [f["name"] for f in frames] == ["schedule", "futex", "lock", "work", "main"]
    assert frames[0]["kind"] == 1 and frames[2]["module"] == "/usr/bin/prog"
    wakers = server.get("wakers")["rows"]
    assert [(r["sleeper"], r["waker"], r["count"], r["sum"], r["sleep_where"], r["waker_where"]) for r in wakers] == [
        ("prog", "other", 19, 19 * 75 * MS, "lock", "unlock")]
    assert server.get("wakers", command="other")["rows"] == []


def test_waits_in_the_same_place_are_apart_by_command_and_have_their_caller(serve, tmp_path):
    b, libc = Batch(), names("clock_nanosleep", "usleep", module="/usr/lib/libc.so.6")
    for tgid, command, caller in ((100, "shop", "report"), (200, "cron", "report")):
        for i in range(2):
            b.slice(i * 100 * MS, i * 100 * MS + 20 * MS, "sleeping", libc + names(None, caller, "main"), command=command, tgid=tgid,
                    pid=tgid, thread=command)
    rows = serve(b.write(tmp_path / "rec")).get("waits")["rows"]
    assert [(r["command"], r["where"], r["caller"]) for r in rows] == [
        ("cron", "usleep", "report"), ("shop", "usleep", "report")]


def test_a_thread_waits_in_the_function_that_top_names(serve, tmp_path):
    """Below libc and what a runtime has for waiting, and not in the plumbing of a program."""
    libc = "/usr/lib/libc.so.6"
    b = Batch()
    for i, stack in enumerate([
            names("recv", module=libc) + names("sock_recv", module="_socket.cpython-311.so") + names("readinto", "handle", "main"),
            names("epoll_wait", module=libc) + names("WaitEventSetWait", "secure_read", "PostgresMain", "main"),
            names("__futex_wait", "pthread_mutex_lock", module=libc) + names(None, "locks", "main")]):
        b.slice(i * SECOND, i * SECOND + (i + 1) * 100 * MS, "disk_sleep", stack, tgid=100 + i, pid=100 + i)
        b.slice((i + 1) * SECOND, (i + 1) * SECOND + MS, "dead", stack, tgid=100 + i, pid=100 + i)
    path = b.write(tmp_path / "rec")
    own = {name: self for (_, name), (self, _) in functions(serve(path).get("functions", metric="offcpu")).items() if self}
    lines = run("top", "-r", path).stdout.split("OFF-CPU TIME BY FUNCTION")[1].split("\n\n")[0].splitlines()[2:-1]
    top = {line.split()[-1]: float(line.split()[0]) for line in lines if float(line.split()[0])}
    assert set(own) == set(top) == {"readinto", "secure_read", "locks"}
    assert {name: ns / SECOND for name, ns in own.items()} == pytest.approx(top, abs=0.001)


def test_spans(server):
    s = server.get("spans")
    assert [(n["name"], n["count"], n["p50"], n["max"]) for n in s["names"]] == [("query", 2, 900 * MS, 900 * MS + 1)]
    h = s["names"][0]["histogram"]
    assert len(h["edges"]) == len(h["counts"]) + 1 and sum(h["counts"]) == 2 and h["edges"] == sorted(h["edges"])
    slow = s["slowest"][0]
    assert slow["duration"] == 900 * MS + 1 and slow["thread"] == "t0"
    assert slow["oncpu"] + sum(w["duration"] for w in slow["waits"]) == slow["duration"]
    assert server.get("spans", name="nothing") == {"names": [], "slowest": []}


def test_lanes_add_up(server):
    t = server.get("timeline", buckets=7, expand="cpu/prog")
    lanes = {lane["id"]: lane for lane in t["lanes"]}
    whole = {name: sum(lane["values"]) * t["bucket_ns"] for name, lane in lanes.items()}
    assert whole["cpu"] == pytest.approx(43 * PERIOD, rel=1e-5) and whole["cpu/other"] == pytest.approx(3 * PERIOD, rel=1e-5)
    assert whole["cpu/prog/t0 (100)"] == pytest.approx(20 * PERIOD, rel=1e-5) and lanes["cpu/prog/t0 (100)"]["parent"] == "cpu/prog"
    assert whole["offcpu/blocked"] == pytest.approx(19 * 75 * MS, rel=1e-5) and whole["offcpu/runnable"] == pytest.approx(19 * 5 * MS, rel=1e-5)
    assert whole["disk"] == pytest.approx(10 * MS, rel=1e-5) and whole["net"] == pytest.approx(2000 * SECOND, rel=1e-5)
    assert lanes["rss"]["values"][-1] == 14096 and sum(lanes["lost"]["values"]) == 5
    for lane in t["lanes"]:
        assert len(lane["values"]) == 7 and lane["parent"] in (None, *lanes)


def test_a_range_cuts_intervals(server):
    t = server.get("timeline", buckets=1, from_=150 * MS, to=250 * MS)
    blocked = next(lane for lane in t["lanes"] if lane["id"] == "offcpu/blocked")
    assert blocked["values"][0] * 100 * MS == pytest.approx(75 * MS, rel=0.2)
    assert server.get("flame", metric="offcpu", from_=0, to=0)["total"] == 0


def test_the_heat_map_has_every_sample(server):
    h = server.get("heatmap")
    assert len(h["values"]) == h["columns"] * h["rows"] and sum(h["values"]) == 43 and h["max"] == max(h["values"])
    assert h["column_ns"] == SECOND and h["row_ns"] * h["rows"] == h["column_ns"]


def test_what_the_recording_is(server, rec):
    r = server.get("recording")
    assert r["path"] == str(rec) and r["host"] == "here" and r["live"] is False and r["other"] is False
    assert int(r["t0_ns"]) == START - PERIOD
    assert {k["kind"]: k["rows"] for k in r["kinds"]}["switch"] == 20
    assert r["lost"] == [{"kind": "switch", "reason": "ring_full", "events": 5}]
    assert [m["id"] for m in r["metrics"]] == ["cpu", "offcpu", "wall", "rss", "disk", "files", "net", "faults", "wakeups", "spans"]
    assert r["unwind"] == [{"how": "root", "rows": 91}]
    assert (r["processes"][0]["command"], r["processes"][0]["cpu_ns"], r["processes"][0]["offcpu_ns"]) == ("prog", 40 * PERIOD, 19 * 80 * MS)


@pytest.mark.parametrize("options, shown", [([], (0, 0, 5000)), (["-c", "late"], (0, 0, 5000)), (["--pid", 7], (0, 0, 5000)),
                                            (["-c", "late", "--from", "2s", "--to", "-1s"], (2000, 2000, 2000))])
def test_times_count_from_the_beginning_of_the_recording(serve, tmp_path, options, shown):
    b = Batch()
    for second in range(6):
        b.profile(second * SECOND + PERIOD, names("f"), command="early")
    b.profile(4 * SECOND, names("f"), command="late", tgid=7, pid=7)
    s = serve(b.write(tmp_path / "rec"), *options)
    r = s.get("recording")
    assert tuple(round(ns / MS) for ns in (int(r["t0_ns"]) - START, r["after_ns"], r["duration_ns"] - PERIOD)) == shown
    begin = 3 * SECOND - r["after_ns"]
    assert s.get("flame", metric="cpu", from_=begin, to=begin + 2 * SECOND, command="late")["total"] == PERIOD


# ---- differences ----


def changes(diff):
    n = diff["nodes"]
    rows = zip(*(n[k] for k in ("name", "a", "b", "lo", "hi", "p", "significant")), strict=True)
    return {diff["names"][name]: row for name, *row in rows}


HALVES = {"afrom": 0, "ato": 10 * SECOND, "bfrom": 10 * SECOND, "bto": 20 * SECOND}


def test_what_changed_is_significant_and_noise_is_not(serve, changing):
    s = serve(changing)
    d = s.get("diff", metric="cpu", **HALVES)
    rows = changes(d)
    for name, a, b in (("slow", 250, 500), ("fast", 750, 500)):
        got_a, got_b, lo, hi, p, significant = rows[name]
        assert (got_a, got_b) == (pytest.approx(a * PERIOD, rel=0.02), pytest.approx(b * PERIOD, rel=0.02))
        assert significant == 1 and p < 1e-3 and lo <= got_b - got_a <= hi and lo * hi > 0, name
    got_a, got_b, lo, hi, p, significant = rows["noise"]
    assert significant == 0 and lo <= 0 <= hi and p > 0.05
    assert d["a_total"] == pytest.approx(rows["main"][0]) and d["b_total"] == pytest.approx(rows["main"][1])
    same = changes(s.get("diff", metric="cpu", **{**HALVES, "bfrom": 0, "bto": 10 * SECOND}))
    assert not any(row[-1] for row in same.values())


def test_functions_that_changed_are_those_of_the_command(serve, changing):
    got = serve(changing).get("changes", metric="cpu", **HALVES)
    p = run("diff", "-r", changing, "--before", "0s..10s", "--after", "10s..20s")
    for field, title in (("self", "SELF"), ("total", "TOTAL")):
        lines = p.stdout.split(f"{title} BY FUNCTION")[1].split("\n\n")[0].splitlines()[2:]
        table = {line.split()[-1]: [float(n) for n in line.split()[:3]] for line in lines}
        ours = {r["name"]: [round(n / SECOND, 3) for n in (r["a"], r["b"], r["b"] - r["a"])] for r in got[field]}
        assert ours.keys() == table.keys() == {"slow", "fast"} and all(ours[k] == pytest.approx(table[k], abs=0.002) for k in ours)
    assert all(r["p"] < 1e-3 and r["lo"] * r["hi"] > 0 for r in got["self"] + got["total"])


def test_sides_are_made_equally_large(serve, changing):
    s = serve(changing)
    longer = changes(s.get("diff", metric="cpu", **{**HALVES, "afrom": 5 * SECOND}))
    assert longer["slow"][1] == pytest.approx(250 * PERIOD, rel=0.03), "B has twice the time of A"
    spans = changes(s.get("diff", metric="cpu", normalise="spans", **HALVES))
    assert spans["slow"][1] == pytest.approx(250 * PERIOD, rel=0.03), "B has twice the spans of A"


def test_two_recordings_are_compared(serve, rec, changing):
    s = serve(rec, changing)
    assert s.get("recording")["other"] is True
    assert {"hot", "slow"} <= changes(s.get("diff", metric="cpu", other=1)).keys()
    assert serve(rec).get("diff", 400, metric="cpu", other=1)["error"]
    assert s.get("diff", 400, metric="cpu", normalise="x")["error"]


def test_slices_add_up(server):
    flame = server.get("flame", metric="wall", slices=10)
    s, sums = flame["slices"], [0] * len(flame["nodes"]["self"])
    for node, piece, value in zip(s["node"], s["slice"], s["value"], strict=True):
        assert 0 <= piece < 10
        sums[node] += value
    assert sums == flame["nodes"]["self"]
    assert paths(flame) == paths(server.get("flame", metric="wall"))


def test_waits_for_work_are_hidden_as_in_top(serve, tmp_path):
    """A thread in epoll_wait() sleeps for work, and waits for a CPU afterwards. In a page fault there, or in a lock, it does not wait for
    work."""
    libc = "/usr/lib/libc.so.6"
    loop = names("epoll_wait", module=libc) + names("serve", "main")
    b = Batch()
    for i, (state, stack, runnable) in enumerate([
            ("sleeping", loop, 20 * MS), ("disk_sleep", loop, 0), ("sleeping", names("pthread_mutex_lock", module=libc) + names("locks", "main"), 0)]):
        b.slice(i * SECOND, i * SECOND + (i + 1) * 100 * MS, state, stack, tgid=100 + i, pid=100 + i)
        b.slice((i + 1) * SECOND, (i + 1) * SECOND + MS, "dead", stack, tgid=100 + i, pid=100 + i, runnable=runnable)
    path = b.write(tmp_path / "rec")
    server = serve(path)
    table = run("top", "-r", path).stdout.split("OFF-CPU TIME BY FUNCTION")[1].split("\n\n")[0].splitlines()[2:-1]
    top = {line.split()[-1]: float(line.split()[0]) + float(line.split()[1]) for line in table}
    answer = server.get("functions", metric="offcpu", hide="idle")
    own = {name: self / SECOND for (_, name), (self, _) in functions(answer).items() if self}
    assert own == pytest.approx({"serve": 0.02 + 0.8, "locks": 0.7}, abs=0.002)
    assert {name: s for name, s in top.items() if s} == pytest.approx(own, abs=0.002)
    graph = paths(server.get("flame", metric="wall", hide="idle"))
    assert sum(graph.values()) / SECOND == pytest.approx(answer["total"] / SECOND)
    assert paths(server.get("flame", metric="offcpu"))[("main", "serve", "epoll_wait")] / SECOND == pytest.approx(0.9 + 0.8, abs=0.01)
    slices = server.get("flame", metric="offcpu", hide="idle", slices=10)
    assert sum(slices["slices"]["value"]) == pytest.approx(answer["total"], abs=100)
