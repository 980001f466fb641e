# SPDX-License-Identifier: GPL-2.0-or-later
"""firefox: the profile is opened by the Firefox Profiler's own loader, and has the numbers of pprof."""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ROOT
from exporter import Raw, run
from recordings import PERIOD, SECOND, START, Batch, frame, kernel, names

MS = 1_000_000
VENV = ROOT / ".deps/venv"
PROFILER = ROOT / ".deps/firefox-profiler/profiler-cli.js"
ODD = 'a"b\\c\n\x01</script>é😀'


class Profiler:
    """A session of the Firefox Profiler without its page."""

    def __init__(self, path, home):
        self.node = shutil.which("node", path=f"{os.environ.get('PATH', '')}:{VENV}/bin")
        assert self.node and PROFILER.exists(), "the Firefox Profiler is missing: run 'make setup-tests'"
        self.env = {**os.environ, "HOME": str(home)}
        self.path = path

    def __enter__(self):
        """Its background process has half a second to start, which a busy machine may not give it."""
        for _ in range(20):
            p = self.start("load", self.path)
            late = re.search(r"did not become ready.*as pid (\d+)", p.stdout + p.stderr, re.S)
            if not late:
                break
            os.kill(int(late[1]), signal.SIGKILL)
        assert p.returncode == 0, p.stdout + p.stderr
        return self

    def start(self, *args):
        return subprocess.run([self.node, PROFILER, *map(str, args)], env=self.env, capture_output=True, text=True, timeout=60)

    def __exit__(self, *_):
        self.call("stop", "--all")

    def call(self, *args):
        p = self.start(*args)
        assert p.returncode == 0, p.stdout + p.stderr
        return p.stdout

    def json(self, *args):
        return json.loads(self.call(*args, "--json"))

    def functions(self, thread):
        """{function: (self, total)} of a thread, in ms."""
        self.call("thread", "select", thread)
        found = self.json("thread", "functions", "--limit", "0", "--include-idle")["functions"]
        return {f["name"].split("!")[-1]: (f["selfSamples"], f["totalSamples"]) for f in found}


@pytest.fixture
def rec(tmp_path):
    b = Batch()
    b.slice(0, 10 * MS, "sleeping", names("wait", "lock", "main"), kernel("schedule"), pid=101, thread="worker")
    b.slice(110 * MS, 150 * MS, "preempted", names("spin", "main"), pid=101, thread="worker", runnable=5 * MS)
    b.slice(170 * MS, 180 * MS, "running", pid=101, thread="worker")
    b.add("vfs_read", 120 * MS, names("read", "main"), duration=115 * MS, amount=4096, file=ODD, fs="ext4", pid=101, thread="worker")
    b.add("trace_exit", 60 * MS, names("leave", "main"), duration=50 * MS, trace_name="GET /", span_id=7)
    b.add("exec", MS, names("exec"))
    b.profile(5 * MS, names("f", "main"), kernel("sys_f"), pid=101, thread="worker").profile(15 * MS, names("f", "main"), count=2)
    b.profile(25 * MS, names("f", "main"), weight=3).profile(27 * MS)
    b.profile(26 * MS, names("other", module='/opt/<b>"'), tgid=200, pid=201, command="other", thread="t")
    return b.write(tmp_path / "rec")


def profile(rec, path, *args):
    run("firefox", rec, "-o", path, *args)
    return json.loads(path.read_text())


def stacks(p, thread):
    """{stack, leaf first: ms}"""
    s, out = p["shared"], {}
    for at, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"], strict=True):
        key = []
        while at is not None:
            key.append(s["stringArray"][s["funcTable"]["name"][s["frameTable"]["func"][s["stackTable"]["frame"][at]]]])
            at = s["stackTable"]["prefix"][at]
        out[tuple(key)] = out.get(tuple(key), 0) + weight
    out.pop((), None)
    return out


def check_tables(p):
    """Columns have the length of their table, callers come first, and times do not go back."""
    s = p["shared"]
    for table in [v for k, v in s.items() if k != "stringArray"] + [t[k] for t in p["threads"] for k in ("samples", "markers")]:
        assert {len(column) for column in table.values() if isinstance(column, list)} == {table["length"]}
    assert all(prefix is None or prefix < i for i, prefix in enumerate(s["stackTable"]["prefix"]))
    assert len(set(zip(s["stackTable"]["frame"], s["stackTable"]["prefix"], strict=True))) == s["stackTable"]["length"]
    assert all(t["samples"]["time"] == sorted(t["samples"]["time"]) for t in p["threads"])
    pids = [t["pid"] for t in p["threads"] if t["isMainThread"]]
    assert sorted(pids) == sorted({t["pid"] for t in p["threads"]})


def test_the_profiler_opens_it_and_shows_the_times(rec, tmp_path):
    run("firefox", rec, "-o", tmp_path / "f.json.gz")
    json.loads(gzip.decompress((tmp_path / "f.json.gz").read_bytes()))
    with Profiler(tmp_path / "f.json.gz", tmp_path) as f:
        threads = f.json("thread", "list")["threads"]
        assert {(t["name"], t["tid"], t["processName"]) for t in threads} == {("prog", 100, "prog"), ("worker", 101, "prog"), ("t", 201, "other")}
        handles = {t["name"]: t["threadHandle"] for t in threads}
        worker = f.functions(handles["worker"])
        period = PERIOD / MS
        assert worker["sleeping"] == (95, 95) and worker["runnable"] == (25, 25) and worker["lock"] == (0, 100)
        assert worker["sys_f"] == (pytest.approx(period),) * 2 and worker["main"] == (0, pytest.approx(120 + period))
        assert f.functions(handles["prog"])["f"] == (pytest.approx(5 * period),) * 2
        markers = f.call("thread", "select", handles["worker"]) and f.call("thread", "markers")
        assert "vfs_read a" in markers and "avg=115ms" in markers and "✓" in markers


def test_the_numbers_are_those_of_pprof(rec, tmp_path):
    p = profile(rec, tmp_path / "f.json")
    check_tables(p)
    found = {}
    for t in p["threads"]:
        for stack, ms in stacks(p, t).items():
            off = stack[0] in ("sleeping", "runnable", "preempted")
            found.setdefault(off, {}).setdefault(stack[1:] if off else stack, []).append(ms)
    for off, query in ((False, "cpu_stacks.sql"), (True, "offcpu_stacks.sql")):
        run("pprof", query, "-r", rec, "--output", tmp_path / "p")
        assert {k: round(sum(v) * MS) for k, v in found[off].items()} == {k: v[1] for k, v in Raw(tmp_path / "p").samples.items()}


def test_times_markers_and_names(rec, tmp_path):
    p = profile(rec, tmp_path / "f.json")
    assert p["meta"]["startTime"] == (START + 5 * MS - PERIOD) / MS, "the first sample stands for the time before it"
    assert p["meta"]["preprocessedProfileVersion"] == 65
    worker = next(t for t in p["threads"] if t["tid"] == 101)
    (data,) = worker["markers"]["data"]
    times = [[p["meta"]["startTime"] + t for t in worker["markers"][k]] for k in ("startTime", "endTime")]
    assert (times, data["fs"], data["amount"]) == ([[START / MS + 5], [START / MS + 120]], "ext4", 4096)
    assert p["shared"]["stringArray"][worker["markers"]["name"][0]] == f"vfs_read {ODD}"
    assert data["type"] == "vfs_all" and data["cause"]["stack"] is not None
    main = p["threads"][0]
    assert main["isMainThread"] and [d["type"] for d in main["markers"]["data"]] == ["exec_all", "usdt_all"]
    assert main["markers"]["phase"] == [0, 1]
    assert sum(worker["samples"]["threadCPUDelta"]) == PERIOD
    libs = {lib["path"]: lib for lib in p["libs"]}
    assert libs["/usr/bin/prog"]["breakpadId"] == "AB" * 16 + "0" and '/opt/<b>"' in libs
    assert {m["name"] for m in p["meta"]["markerSchema"]} >= {"vfs_all", "usdt_all", "exec_all"}


def test_the_range_is_that_of_the_recording_whatever_is_selected(tmp_path):
    b = Batch()
    for second in range(1, 6):
        b.profile(second * SECOND, names("f"), command="early")
    b.profile(4 * SECOND, names("f"), command="late", tgid=7, pid=7)
    rec = b.write(tmp_path / "rec")

    def shown(*options):
        meta = profile(rec, tmp_path / "f.json", "--metric", "cpu", *options)["meta"]
        return [round(meta["startTime"] + meta[k] - START / MS) for k in ("profilingStartTime", "profilingEndTime")]

    assert shown("-c", "late") == shown() == [990, 5000]
    assert shown("-c", "late", "--from", "2s", "--to", "3500ms") == [2990, 4490]


@pytest.mark.parametrize("metric, functions", [("cpu", {"f", "sys_f", "main"}), ("offcpu", {"sleeping", "runnable", "wait", "lock", "schedule", "spin", "main"})])
def test_samples_are_of_one_metric(rec, tmp_path, metric, functions):
    p = profile(rec, tmp_path / "f.json", "--metric", metric, "--tid", "101")
    (t,) = p["threads"]
    assert {f for stack in stacks(p, t) for f in stack} == functions and t["isMainThread"]


def test_inlined_functions_and_lines_of_scripts_are_frames(tmp_path):
    b = Batch().profile(1, [frame("work", "/srv/app.py", 0, 0), *names("main")])
    p = profile(b.write(tmp_path / "r"), tmp_path / "f.json", "-i")
    check_tables(p)
    assert stacks(p, p["threads"][0]) == {("work", "main"): pytest.approx(PERIOD / MS)}


def test_an_empty_selection_leaves_no_file(rec, tmp_path):
    assert "selects no event" in run("firefox", rec, "--pid", "5", "-o", tmp_path / "f.json", status=1).stderr
    assert not (tmp_path / "f.json").exists()
    assert "expected wall, cpu or offcpu" in run("firefox", rec, "--metric", "rss", status=2).stderr
