# SPDX-License-Identifier: GPL-2.0-or-later
"""The server of `stacksexport view`: whom it answers, what it refuses, and how it starts and ends."""
import fcntl
import json
import os
import pathlib
import pwd
import re
import shutil
import tempfile
import threading
import time
from xml.etree import ElementTree

import pytest

from exporter import run
from recordings import PERIOD, SECOND, Batch, names
from viewserver import MS, fill, rec, serve, server  # noqa: F401
from webclient import Server, functions, paths

LONG = "std::vector<" * 9000 + "int" + ">" * 9000  # 117 KB
HOSTILE = "<script>alert('1')</script>\"\\\n;\t\u202e"


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
               "SET VARIABLE events_files = ['{other}']; FROM events", "FROM following('FROM read_text(''/etc/passwd'')', 1)"]
WRITES = ["COPY (SELECT 1) TO '{out}'", "COPY events TO '{events}'", "EXPORT DATABASE '{out}'", "ATTACH '{out}'", "ATTACH ':memory:' AS m",
          "INSTALL httpfs", "LOAD httpfs", "PRAGMA database_list", "PRAGMA enable_profiling", "CREATE TABLE t AS SELECT 1",
          "CREATE TABLE t AS SELECT 1; SELECT 1", "CREATE OR REPLACE VIEW events AS SELECT 1; SELECT 1", "INSERT INTO page.samples FROM page.samples",
          "DELETE FROM page.samples; SELECT 1", "DROP TABLE page.samples", "UPDATE page.waits SET ends = 0", "SET threads = 1",
          "SET GLOBAL enable_external_access = true; SELECT 1", "RESET lock_configuration", "SET enable_external_access = true", "CHECKPOINT",
          "USE page; SELECT 1", "BEGIN; SELECT 1", "CALL pragma_version()", "CREATE SECRET s (TYPE s3)", "DETACH memory", "SELECT 1; SELECT 2",
          "SET VARIABLE x = 1", "CREATE TEMP TABLE t AS SELECT 1", "", "SELECT 'open", "FROM query('COPY (SELECT 1) TO ''{out}''')",
          "FROM following('COPY (SELECT 1) TO ''{out}''', 1)"]


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


# ---- reports ----


def data_of(report):
    text = report.read_text()
    return text, json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_a_report_has_the_answers_of_the_server(server, rec, tmp_path):
    done = run("report", rec, "-o", tmp_path / "r.html", "--svg", tmp_path / "f.svg", "--by", "process", "--sort", "total")
    assert f"wrote {tmp_path / 'r.html'}" in done.stderr
    text, data = data_of(tmp_path / "r.html")
    assert data["state"] == {"root": "process"}
    assert paths(data["api/flame?metric=wall&root=process"]) == paths(server.get("flame", metric="wall", root="process"))
    assert data["api/recording"] == server.get("recording")
    assert data["api/timeline?buckets=800"] == server.get("timeline", buckets=800)
    assert data["api/functions?metric=offcpu"] == server.get("functions", metric="offcpu", sort="total")
    assert paths(data["api/flame?metric=wall"]) == paths(server.get("flame", metric="wall")) and data["api/flame?metric=wall"]["slices"]
    for row in data["api/waits"]["rows"] + data["api/spans"]["slowest"][0]["waits"]:
        assert data[f"api/stack?id={row['stack']}"]["frames"]
    assert not re.search(r"https?://(?!www\.w3\.org)", text.replace("https://github.com", "")), "it loads nothing"
    assert (tmp_path / "r.html").stat().st_size < 10 << 20
    svg = ElementTree.parse(tmp_path / "f.svg")
    titles = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert f"hot ({40 * PERIOD} ns, 93.02 %)" in titles


def test_a_report_has_at_most_10_mb_whatever_the_names(tmp_path):
    b = Batch()
    for number in range(60):
        b.profile(number, names(f"{number}" + 100_000 * "<", "main"))
    run("report", b.write(tmp_path / "long"), "-o", tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size <= 10_000_000
    assert "api/recording" in data_of(tmp_path / "r.html")[1]


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


BROWSER = """#!/bin/sh
echo "$1" "$(id -u)" "$HOME" "$(grep SigBlk /proc/$$/status)" >"${0%/*}/$(basename "$0").ran"
"""


@pytest.fixture
def browsers():
    """A folder that everybody may write to, with an xdg-open, and browsers: one, and one that fails."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o777)
        for name, text in (("xdg-open", BROWSER), ("browser", BROWSER), ("broken", BROWSER + "exit 3\n"), ("endless", BROWSER + "sleep 60\n")):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        yield folder


def opened(folder, rec, env, *options):
    """What ran, with its arguments, its user, its home and blocked signals; the messages."""
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SUDO_UID")}
    s = Server(rec, *options, env={**kept, "PATH": f"{folder}:{os.environ['PATH']}", **env}, opens=True)
    err = s.close()
    ran = {f.stem: f.read_text().split(maxsplit=3) for f in folder.glob("*.ran")}
    for words in ran.values():
        assert words.pop(0) == s.url and words.pop().split()[-1].strip("0") == ""
    assert ("ssh -L" in err) != ("opened in a browser" in err) and "Ctrl-C ends it" in err
    return ran, "opened in a browser" in err


CALLER = pwd.getpwnam("nobody")
AS_CALLER = {"SUDO_UID": str(CALLER.pw_uid)} if os.geteuid() == 0 else {}
USER = [str(CALLER.pw_uid), CALLER.pw_dir] if os.geteuid() == 0 else [str(os.geteuid()), os.environ.get("HOME", "")]


@pytest.mark.parametrize("env, ran, good", [
    ({}, [], False),
    ({"DISPLAY": ":9"}, ["xdg-open"], True),
    ({"WAYLAND_DISPLAY": "wayland-9"}, ["xdg-open"], True),
    ({"BROWSER": "browser"}, ["browser"], True),
    ({"DISPLAY": ":9", "BROWSER": "w3m %s:browser"}, ["xdg-open"], True),
    ({"BROWSER": "broken"}, ["broken"], False),
    ({"BROWSER": "endless"}, ["endless"], True),
    ({"BROWSER": "missing"}, [], False),
], ids=str)
def test_a_browser_is_opened_where_there_is_one(browsers, rec, env, ran, good):
    assert opened(browsers, rec, {**AS_CALLER, **env}) == ({name: USER for name in ran}, good)


@pytest.mark.skipif(os.geteuid() != 0, reason="as root only")
@pytest.mark.parametrize("sudo", [{}, {"SUDO_UID": "0"}, {"SUDO_UID": "x"}, {"SUDO_UID": "4294967295"}], ids=str)
def test_root_opens_no_browser_without_a_user_who_called_sudo(browsers, rec, sudo):
    assert opened(browsers, rec, {"DISPLAY": ":9", **sudo}) == ({}, False)


def test_the_browser_shows_groups_and_order_of_the_options(browsers, rec):
    s = Server(rec, "--by", "unit", "--sort", "total", env={**os.environ, **AS_CALLER, "BROWSER": str(browsers / "browser")}, opens=True)
    s.close()
    assert (browsers / "browser.ran").read_text().split()[0] == s.url and s.url.endswith("/#root=unit&sort=total")


def test_a_recording_that_is_not_there_is_reported(tmp_path):
    assert "nothing" in run("view", tmp_path / "nothing", status=1).stderr


# ---- while the collector records ----


def test_a_selection_of_a_recording_grows_with_it(serve, tmp_path):
    folder = tmp_path / "live"
    Batch().profile(0, names("first"), command="chosen").write(folder, 1)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    s = serve(folder, "-c", "chosen")
    before = s.get("recording")["duration_ns"]
    Batch().profile(3 * SECOND, names("second"), command="chosen").write(folder, 2)
    until(lambda: s.get("recording")["duration_ns"], lambda ns: ns == before + 3 * SECOND)
    os.close(lock)


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
