# SPDX-License-Identifier: GPL-2.0-or-later
"""The server of `stacksexport view`: whom it answers, and that its numbers are those of top, pprof and SQL."""
import fcntl
import json
import os
import re
import shutil
import subprocess
import threading
import time
from xml.etree import ElementTree

import pytest

from conftest import EXPORT
from exporter import Raw, run
from recordings import PERIOD, SECOND, START, Batch, kernel, names
from webclient import Server, functions, paths

MS = SECOND // 1000
LONG = "std::vector<" * 9000 + "int" + ">" * 9000  # 117 KB
HOSTILE = "<script>alert('1')</script>\"\\\n;\t\u202e"


def fill(b):
    """Two seconds of two programs: CPU, waits, wake-ups, spans, disks, memory, network, losses."""
    for i in range(40):
        b.profile(i * 50 * MS, names("hot", "work", "main"), kernel("copy", "entry") if i % 4 == 0 else None, thread=f"t{i % 2}",
                  pid=100 + i % 2, cgroup="/a/b" if i % 2 else "/ab")
    b.profile(0, names("rec", "rec", "main"), command="other", tgid=200, pid=200, thread="other", cgroup="/a", weight=3)
    for i in range(20):
        b.slice(i * 100 * MS, i * 100 * MS + 20 * MS, "sleeping" if i % 2 else "disk_sleep", names("lock", "work", "main"),
                kernel("schedule", "futex"), runnable=5 * MS, thread="t0", span_id=1 + i // 10, trace_name="query")
        b.add("wake", i * 100 * MS + 90 * MS, names("unlock", "main"), target=100, command="other", tgid=200, pid=200, thread="other")
    for i in range(2):
        b.add("trace_close", (i + 1) * SECOND, duration=900 * MS + i, span_id=1 + i, trace_name="query", thread="t0")
        b.add("blk_read", i * SECOND + 10 * MS, names("read", "main"), duration=5 * MS, amount=4096)
        b.add("vfs_write", i * SECOND + 20 * MS, names("write", "main"), duration=2 * MS, amount=100)
        b.add("tcp_send", i * SECOND + 30 * MS, names("send", "main"), amount=1000)
        b.add("rss", i * SECOND + 40 * MS, names("grow", "main"), amount=10_000 + 4096 * i)
        b.add("fault", i * SECOND + 50 * MS, names("touch", "main"), weight=10)
    b.add("lost", SECOND, amount=5, lost_kind="switch", reason="ring_full", tgid=0, pid=0, command="")
    return b


@pytest.fixture(scope="module")
def rec(tmp_path_factory):
    return fill(Batch()).write(tmp_path_factory.mktemp("view") / "rec")


@pytest.fixture(scope="module")
def server(rec):
    s = Server(rec)
    yield s
    s.close()


@pytest.fixture
def serve():
    running = []

    def go(*args, **kw):
        running.append(Server(*args, **kw))
        return running[-1]

    yield go
    for s in running:
        s.process.kill()
        s.process.communicate()


# ---- whom it answers ----


def test_a_token_is_needed_and_the_right_one(server):
    wrong = "/" + "0" * 32 + "/"
    for path in ("/", "/api/recording", wrong, f"{wrong}api/recording", server.path[:-1], server.path[:-2] + "/", "/../" + server.path,
                 server.path[:10] + "%00" + server.path[10:]):
        status, body, _ = server.request("GET", path)
        assert status == 404 and "token" in json.loads(body)["error"], path
    assert server.request("GET", f"{server.path}api/recording")[0] == 200


def test_two_servers_have_two_tokens(serve, rec, server):
    other = serve(rec)
    assert other.path != server.path and other.port != server.port
    assert other.request("GET", f"{server.path}api/recording")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:{other}", "localhost.evil.example:{port}", ""])
def test_another_host_is_refused(server, host):
    host = host.format(port=server.port, other=server.port + 1)
    assert server.request("GET", f"{server.path}api/recording", headers={"Host": host})[0] in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:{other}", "http://localhost"])
def test_another_origin_is_refused(server, origin):
    origin = origin.format(port=server.port, other=server.port + 1)
    for method, path in (("GET", "api/recording"), ("POST", "api/sql")):
        body = b'{"sql": "SELECT 1"}' if method == "POST" else None
        assert server.request(method, server.path + path, body, {"Origin": origin})[0] == 403


def test_its_own_origin_is_answered_by_both_names(server):
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        own = f"{name}:{server.port}"
        headers = {"Host": own, "Origin": f"http://{own}"}
        assert server.request("POST", f"{server.path}api/sql", b'{"sql": "SELECT 1"}', headers)[0] == 200


def test_unknown_paths_and_methods_are_refused(server):
    for path in ("api/nothing", "api/", "api/../recording", "api/flame/", "nothing.html", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd"):
        assert server.request("GET", server.path + path)[0] == 404, path
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert server.request(method, f"{server.path}api/recording")[0] == 405
    assert server.request("GET", f"{server.path}api/sql")[0] == 405
    assert server.request("POST", f"{server.path}api/recording", b"{}")[0] == 405


def test_large_requests_are_refused(server):
    body = b'{"sql": "SELECT 1 -- ' + b"x" * 300_000 + b'"}'
    assert server.request("POST", f"{server.path}api/sql", body)[0] == 413
    chunks = iter([b"x" * 50_000] * 10)
    assert server.request("POST", f"{server.path}api/sql", chunks)[0] == 413
    assert server.request("GET", f"{server.path}api/flame?name={'x' * 100_000}")[0] in (414, 431)
    assert server.get("recording")["kinds"]


def test_wrong_parameters_are_refused(server):
    for query in ("metric=nothing", "from=x", "to=1e9", "pid=1;2", "tgid=99999999999", "merge=x", "hide=x", "limit=0", "limit=x",
                  "from=9223372036854775807", "command=%ff", "command=a%00b", "&".join(f"p{i}=1" for i in range(40))):
        status, body, _ = server.request("GET", f"{server.path}api/flame?{query}")
        assert status == 400 and json.loads(body)["error"], query
    server.get("timeline", 400, buckets=10 ** 9)
    server.get("heatmap", 400, columns=-1)
    server.get("waits", 400, limit=10 ** 6)
    for stack in ("", "1", "g" * 16, "0" * 16 + "-", "0" * 50):
        server.get("stack", 400, id=stack)
    server.get("stack", 404, id="0" * 16)
    server.get("query", 404, name="../../etc/passwd")
    server.get("query", 404, name="tables/../stacks")


def test_answers_forbid_what_the_page_does_not_need(server):
    _, _, headers = server.request("GET", f"{server.path}api/recording")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Content-Type"] == "application/json"


# ---- SQL ----

READS_FILES = ["FROM read_csv('/etc/passwd')", "FROM read_text('/etc/passwd')", "FROM read_blob('/etc/passwd')", "FROM '/etc/passwd.csv'",
               "FROM glob('/etc/*')", "FROM sniff_csv('/etc/passwd')", "FROM parquet_metadata('{other}')", "FROM read_parquet('{other}')",
               "SET VARIABLE events_files = ['{other}']; FROM events", "FROM following('FROM read_text(''/etc/passwd'')')"]
WRITES = ["COPY (SELECT 1) TO '{out}'", "COPY events TO '{events}'", "EXPORT DATABASE '{out}'", "ATTACH '{out}'", "ATTACH ':memory:' AS m",
          "INSTALL httpfs", "LOAD httpfs", "PRAGMA database_list", "PRAGMA enable_profiling", "CREATE TABLE t AS SELECT 1",
          "CREATE TABLE t AS SELECT 1; SELECT 1", "CREATE OR REPLACE VIEW events AS SELECT 1; SELECT 1", "INSERT INTO page.samples FROM page.samples",
          "DELETE FROM page.samples; SELECT 1", "DROP TABLE page.samples", "UPDATE page.waits SET ends = 0", "SET threads = 1",
          "SET GLOBAL enable_external_access = true; SELECT 1", "RESET lock_configuration", "SET enable_external_access = true", "CHECKPOINT",
          "USE page; SELECT 1", "BEGIN; SELECT 1", "CALL pragma_version()", "CREATE SECRET s (TYPE s3)", "DETACH memory", "SELECT 1; SELECT 2",
          "SET VARIABLE x = 1", "CREATE TEMP TABLE t AS SELECT 1", "", "SELECT 'open", "FROM query('COPY (SELECT 1) TO ''{out}''')",
          "FROM following('COPY (SELECT 1) TO ''{out}''')"]


@pytest.mark.parametrize("sql", READS_FILES + WRITES)
def test_sql_that_reads_other_files_or_writes_is_refused(server, rec, tmp_path, sql):
    other = tmp_path / "other.parquet"
    shutil.copy(rec / "events-000001.parquet", other)
    before = server.sql("SELECT (SELECT count(*) FROM page.samples), (SELECT count(*) FROM page.waits), (SELECT count(*) FROM events)")
    answer = server.sql(sql.format(out=tmp_path / "out", other=other, events=rec / "events-000001.parquet"), 400)
    assert answer["error"]
    assert not (tmp_path / "out").exists()
    assert server.sql("SELECT (SELECT count(*) FROM page.samples), (SELECT count(*) FROM page.waits), (SELECT count(*) FROM events)")["rows"] == before["rows"]


def test_sql_reads_the_recording(server):
    answer = server.sql("SELECT kind, count(*) AS n, 1.5 AS d, [1, 2] AS l, make_timestamp(0) AS t, NULL AS e FROM events GROUP BY ALL ORDER BY n DESC, kind", limit=2)
    assert [c["name"] for c in answer["columns"]] == ["kind", "n", "d", "l", "t", "e"]
    assert [c["type"] for c in answer["columns"]][:3] == ["VARCHAR", "BIGINT", "DECIMAL"]
    assert answer["rows"] == [["profile", 41, 1.5, "[1, 2]", "1970-01-01 00:00:00", None], ["switch", 20, 1.5, "[1, 2]", "1970-01-01 00:00:00", None]]
    assert answer["truncated"] is True
    assert server.sql("SELECT 'nan'::DOUBLE, 'inf'::FLOAT")["rows"] == [[None, None]]
    assert server.sql("CREATE TEMP TABLE t AS SELECT 42 AS a; FROM t")["rows"] == [[42]]
    assert server.sql("FROM t", 400)["error"], "what is temporary ends with its request"
    assert server.sql("SELECT count(*) FROM events WHERE command = '?command'", parameters={"command": "other"})["rows"] == [[21]]


def test_a_stack_in_sql_is_a_list_of_names(server):
    stack = ["copy", "entry", "hot", "work", "main"]
    for sql in ("SELECT list_concat(kstack, ustack) AS stack FROM stacks WHERE kind = 'profile' AND kstack_id IS NOT NULL LIMIT 1",
                "SELECT [kstack_id, ustack_id] AS stack FROM events WHERE kind = 'profile' AND kstack_id IS NOT NULL LIMIT 1",
                "SELECT [stack_part(kstack_id), stack_part(ustack_id)] AS stack FROM events WHERE kind = 'profile' AND kstack_id IS NOT NULL LIMIT 1"):
        answer = server.sql(sql)
        assert answer["columns"][0]["type"] == "STACK" and answer["rows"] == [[stack]]
    assert server.sql("SELECT [reversed_part(ustack_id), label_part('x')] AS s FROM events WHERE kind = 'wake' LIMIT 1")["rows"] == [[["main", "unlock", "x"]]]


def test_every_shipped_query_runs_on_the_page(server):
    queries = server.get("queries")["queries"]
    assert {"tables/slow_spans", "pprof/cpu_stacks", "traceview/usdt_all"} <= {q["name"] for q in queries}
    for q in queries:
        assert q["head"] and q["parameters"] == ["command", "buildid"] or "parameters" in q
        assert "error" not in server.sql(server.get("query", name=q["name"])["sql"]), q["name"]


def test_sql_is_stopped_when_it_is_cancelled(server):
    answers = []
    t = threading.Thread(target=lambda: answers.append(server.sql("SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range + b.range < 0", 400)))
    t.start()
    while not any(b["what"] == "SQL" for b in server.get("progress")["busy"]):
        pass
    while t.is_alive():
        assert server.request("POST", f"{server.path}api/cancel", b"{}")[0] == 200
        t.join(0.05)
    assert "stopped" in answers[0]["error"]
    assert server.get("progress")["busy"] == []


# ---- the numbers ----

SELECTIONS = [{}, {"command": "prog"}, {"from_": 500 * MS, "to": 1500 * MS}, {"from_": 333 * MS}, {"pid": 101}, {"thread": "t0"}, {"tgid": 200},
              {"cgroup": "/a"}, {"span": "query"}, {"command": "prog", "from_": 700 * MS, "to": 710 * MS}]

NOTHING = {"cpu": [{"span": "query"}, SELECTIONS[-1]], "offcpu": [{"pid": 101}, {"tgid": 200}, {"cgroup": "/a"}]}


def options(server, selection):
    """The same selection for top, pprof and SQL; the page's times count from its beginning."""
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
    assert [(r["state"], r["where"], r["count"], r["sum"], r["p50"], r["max"]) for r in rows] == [
        ("disk_sleep", "lock", 10, 800 * MS, 80 * MS, 80 * MS), ("sleeping", "lock", 9, 720 * MS, 80 * MS, 80 * MS)]
    frames = server.get("stack", id=rows[0]["stack"])["frames"]
    assert [f["name"] for f in frames] == ["schedule", "futex", "lock", "work", "main"]
    assert frames[0]["kind"] == 1 and frames[2]["module"] == "/usr/bin/prog"
    wakers = server.get("wakers")["rows"]
    assert [(r["sleeper"], r["waker"], r["count"], r["sum"], r["sleep_where"], r["waker_where"]) for r in wakers] == [
        ("prog", "other", 19, 19 * 75 * MS, "lock", "unlock")]
    assert server.get("wakers", command="other")["rows"] == []


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


# ---- differences ----


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """Ten seconds in which slow takes a quarter of the time, ten in which it takes half; noise is the same in both."""
    b = Batch()
    for i in range(2000):
        late, at = i >= 1000, i * 10 * MS
        b.profile(at, names("slow" if i * 7919 % 100 < (50 if late else 25) else "fast", "main"))
        if i * 104729 % 100 < 30:
            b.profile(at + 1, names("noise", "main"))
        if i % (50 if late else 100) == 0:
            b.add("trace_close", at, duration=MS, trace_name="s", span_id=1 + i)
    return b.write(tmp_path_factory.mktemp("diff") / "changing")


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


# ---- reports ----


def data_of(report):
    text = report.read_text()
    return text, json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_a_report_has_the_answers_of_the_server(server, rec, tmp_path):
    run("report", rec, "-o", tmp_path / "r.html", "--svg", tmp_path / "f.svg")
    text, data = data_of(tmp_path / "r.html")
    assert data["api/recording"] == server.get("recording")
    assert data["api/timeline?buckets=800"] == server.get("timeline", buckets=800)
    assert data["api/functions?metric=offcpu"] == server.get("functions", metric="offcpu")
    assert paths(data["api/flame?metric=wall"]) == paths(server.get("flame", metric="wall")) and data["api/flame?metric=wall"]["slices"]
    for row in data["api/waits"]["rows"] + data["api/spans"]["slowest"][0]["waits"]:
        assert data[f"api/stack?id={row['stack']}"]["frames"]
    assert not re.search(r"https?://(?!www\.w3\.org)", text.replace("https://github.com", "")), "it loads nothing"
    assert (tmp_path / "r.html").stat().st_size < 10 << 20
    svg = ElementTree.parse(tmp_path / "f.svg")
    titles = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert f"hot ({40 * PERIOD} ns, 93.02 %)" in titles


def test_a_report_of_hostile_names_is_text(tmp_path):
    b = Batch()
    b.profile(0, names("</script><script>alert(1)</script>", "a & <b>", "\x01\u202e", "main"), command="</script>")
    run("report", b.write(tmp_path / "hostile"), "--output", tmp_path / "r.html", "--svg", tmp_path / "f.svg")
    text, data = data_of(tmp_path / "r.html")
    assert "alert(1)" in text and "<script>alert" not in text
    assert ("main", "\x01\u202e", "a & <b>", "</script><script>alert(1)</script>") in paths(data["api/flame?metric=cpu"])
    assert any("<script>alert" in (t.text or "") for t in ElementTree.parse(tmp_path / "f.svg").iter())


def test_a_report_needs_a_file_that_can_be_written(rec, tmp_path):
    assert "cannot" in run("report", rec, "-o", tmp_path / "no" / "r.html", status=1).stderr
    assert "needs a FILE" in run("report", rec, "-o", status=2).stderr
    run("report", Batch().write(tmp_path / "empty"), "-o", tmp_path / "e.html", "--svg", tmp_path / "e.svg")
    assert data_of(tmp_path / "e.html")[1]["api/recording"]["metrics"] == []


# ---- what recordings may hold ----


def test_hostile_names_stay_text(serve, tmp_path):
    b = Batch()
    b.profile(0, names(HOSTILE, LONG, "main"), command=HOSTILE, thread=HOSTILE, cgroup=HOSTILE)
    b.add("trace_close", 5, duration=5, trace_name=HOSTILE, span_id=1)
    s = serve(b.write(tmp_path / "hostile"))
    assert set(paths(s.get("flame", metric="cpu"))) == {("main", LONG, HOSTILE)}
    assert {n for _, n in functions(s.get("functions"))} == {"main", LONG, HOSTILE}
    assert s.get("flame", metric="cpu", command=HOSTILE)["total"] == PERIOD
    assert s.get("spans", name=HOSTILE)["names"][0]["name"] == HOSTILE
    assert s.get("sandwich", metric="cpu", name=HOSTILE, module="prog")["callers"]["total"] == PERIOD


def test_a_recording_without_rows_is_shown(serve, tmp_path):
    s = serve(Batch().write(tmp_path / "empty"))
    r = s.get("recording")
    assert r["kinds"] == [] and r["metrics"] == [] and r["duration_ns"] == 0
    assert s.get("flame", metric="wall")["total"] == 0
    assert s.get("functions", metric="cpu")["rows"] == []
    assert s.get("timeline")["lanes"] == []
    for name in ("waits", "wakers"):
        assert s.get(name)["rows"] == []
    assert s.get("spans") == {"names": [], "slowest": []}


def test_rows_that_are_not_in_order_are_shown(serve, tmp_path, server):
    fill(Batch()).write(tmp_path / "ab", metadata={})
    s = serve(tmp_path / "ab")
    assert paths(s.get("flame", metric="offcpu")) == paths(server.get("flame", metric="offcpu"))


def test_values_of_extreme_size_do_not_wrap(serve, tmp_path):
    b = Batch()
    b.profile(0, names("f", "main"))
    b.events[-1].update(duration=4 * 10 ** 18, weight=2 ** 31 - 1)
    b.add("tcp_send", 1, names("g", "main"), amount=2 ** 63 - 1)
    b.add("tcp_send", 2, names("g", "main"), amount=2 ** 63 - 1)
    b.profile(3, names("f", "main"))
    b.events[-1].update(duration=5 * 10 ** 18)
    b.profile(4, names("h", "main"))
    b.events[-1].update(duration=5 * 10 ** 18)
    s = serve(b.write(tmp_path / "extreme"))
    assert s.get("flame", metric="cpu")["total"] == s.get("functions", metric="cpu")["rows"][-1]["total"] == 2 ** 63 - 1
    assert s.get("flame", metric="net")["total"] == 2 ** 63 - 1
    for name in ("recording", "timeline", "heatmap", "waits"):
        s.get(name)


# ---- the program ----


def test_it_says_where_it_is_and_ends_by_a_signal(serve, rec):
    s = serve(rec, env={k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")})
    err = s.close()
    assert f"ssh -L {s.port}:127.0.0.1:{s.port}" in err


def test_it_listens_on_loopback_only(server):
    with open("/proc/net/tcp") as f:
        listening = {line.split()[1] for line in f if line.split()[3] == "0A"}
    assert f"0100007F:{server.port:04X}" in listening and f"00000000:{server.port:04X}" not in listening


def test_a_browser_is_opened_where_there_is_one(rec, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("as root none is opened")
    (tmp_path / "xdg-open").write_text(f"#!/bin/sh\necho \"$1\" > {tmp_path}/opened\n")
    (tmp_path / "xdg-open").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":9"}
    p = subprocess.Popen([EXPORT, "view", rec], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    url = p.stdout.readline().strip()
    p.send_signal(2)
    p.communicate(timeout=60)
    assert (tmp_path / "opened").read_text().strip() == url


def test_a_recording_that_is_not_there_is_reported(tmp_path):
    assert "nothing" in run("view", tmp_path / "nothing", status=1).stderr


# ---- while the collector records ----


def test_new_batches_are_shown_as_they_come(serve, tmp_path):
    folder = tmp_path / "live"
    first = Batch()
    first.profile(0, names("first", "main"))
    first.slice(0, 10 * MS, "sleeping", names("lock", "main"))
    first.write(folder, 1)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # as the collector does
    s = serve(folder)
    assert s.get("recording")["live"] is True and s.get("flame", metric="offcpu")["total"] == 0
    second = Batch()
    second.profile(SECOND, names("second", "main"), command="late", tgid=7, pid=7)
    second.slice(510 * MS, 520 * MS, "sleeping", names("lock", "main"))
    second.add("wake", 500 * MS, names("unlock", "main"), target=100, command="late", tgid=7, pid=7)
    second.add("vfs_read", -SECOND, duration=0)  # before the rows of the first batch
    second.write(folder, 2)
    until(lambda: s.get("functions")["rows"], lambda rows: {r["name"] for r in rows} == {"first", "second", "main"})
    assert paths(s.get("flame", metric="offcpu")) == {("main", "lock"): 500 * MS}, "an interval from one batch to the next"
    assert s.sql("SELECT count(*) FROM events")["rows"] == [[6]]
    assert [(r["waker"], r["sum"]) for r in s.get("wakers")["rows"]] == [("late", 500 * MS)]
    assert {p["command"] for p in s.get("recording")["processes"]} == {"prog", "late"}
    s.sql("FROM read_csv('/etc/passwd')", 400)
    os.close(lock)
    until(lambda: s.get("recording")["live"], lambda live: live is False)


def until(ask, good):
    end = time.monotonic() + 60
    while not good(answer := ask()):
        assert time.monotonic() < end, answer
        time.sleep(0.05)
