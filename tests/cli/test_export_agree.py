# SPDX-License-Identifier: GPL-2.0-or-later
"""Every exporter takes the same selection, and gives the same numbers for it."""
import functools
import json
import re
import subprocess

import pytest

from conftest import EXPORT
from exporter import Raw, run
from recordings import PERIOD, SECOND, START, Batch, kernel, names
from test_export_firefox import stacks
from test_export_top import sections
from traces import Trace, perfetto

COMMANDS = ["top", "explain", "pprof", "folded", "speedscope", "firefox", "perfetto", "trace", "query", "view", "report", "live", "diff"]
OPTIONS = ["--from", "--to", "--command", "--pid", "--tid", "--thread", "--span", "--kind", "--cgroup", "--host", "--register"]
CPU, OFFCPU = "cpu_stacks.sql", "offcpu_stacks.sql"


@pytest.fixture(scope="module")
def rec(tmp_path_factory):
    """Two threads of one program and one of another: each runs the first second of ten, and then sleeps."""
    b = Batch()
    b.slice(0, 1, "sleeping", names("begin"), pid=9, tgid=9, command="first", cgroup="/z", host="there")
    for nth, (pid, tgid, command, cgroup, thread) in enumerate([(1, 1, "one", "/a/b", "one"), (2, 1, "one", "/a/b", "worker"), (3, 3, "two", "/ab", "two")]):
        who = dict(pid=pid, tgid=tgid, command=command, cgroup=cgroup, thread=thread)
        for at in range(0, 60, 10):
            span = dict(span_id=7, trace_name="GET /") if at < 30 and pid == 2 else {}
            start = (at + nth) * SECOND
            b.profile(start + SECOND // 2, names("work", f"main{pid}"), kernel("sys"), **who, **span)
            b.slice(start, start + SECOND, "sleeping", names(f"wait{pid}"), kernel("schedule"), runnable=SECOND if at else None, **who, **span)
    return b.write(tmp_path_factory.mktemp("agree") / "rec")


SELECTIONS = [
    [], ["--from", "-35s", "--to", "-12.5s"], ["--from", START // SECOND + 12, "--to", "2023-11-14T22:13:58Z"], ["--pid", "1", "--from", "15s"],
    ["--thread", "worker", "--to", "30s"], ["--span", "7", "--to", "18s"], ["--kind", "profile"], ["--kind", "switch", "--from", "30s"], ["--cgroup", "/a"],
    ["--host", "here", "--tid", "3"], ["-c", "two", "--from", "25s", "--to", "29s"],
]


def is_empty(p):
    return p.returncode == 1 and ("the result is empty" in p.stderr or "has no event" in p.stderr)


def call(*args):
    return subprocess.run([EXPORT, *map(str, args)], capture_output=True, text=True, timeout=120, cwd="/")


def table(rec, args):
    """CPU time and time off the CPU by SQL, in ns: all other outputs must have the same."""
    sql = "SELECT (SELECT coalesce(sum(duration), 0) FROM events WHERE kind = 'profile')::BIGINT AS cpu, (SELECT coalesce(sum(offcpu_ns), 0) FROM offcpu)::BIGINT AS off"
    (row,) = json.loads(run("query", sql, "-r", rec, "--format", "json", *args).stdout)
    return row["cpu"], row["off"]


def of_pprof(rec, args, path):
    sums = []
    for query in (CPU, OFFCPU):
        p = call("pprof", query, "-r", rec, "--output", path, *args)
        assert p.returncode == 0 or is_empty(p), p.stderr
        sums.append(sum(v[1] for v in Raw(path).samples.values()) if p.returncode == 0 else 0)
    return tuple(sums)


def of_folded(rec, args, _):
    out = [call("folded", query, "-r", rec, *args).stdout for query in (CPU, OFFCPU)]
    return tuple(sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()) for text in out)


def of_top(rec, args, _):
    p = call("top", rec, "-N", "100", "--waiting", *args)
    if is_empty(p):
        return 0, 0
    rows = sections(p.stdout)["TIME BY COMMAND"]
    last = rows[-1].split()
    idle = sum(float(s) for s in re.findall(r"Not counted: ([\d.]+) s", p.stdout))
    head = rows[0]
    cpu = round(float(last[0]) * SECOND) if "CPU s" in head or "cpu s" in head else 0
    return cpu, round((float(last[2]) + float(last[3]) + idle) * SECOND)


def of_firefox(rec, args, path):
    p = call("firefox", rec, "-o", path, *args)
    if is_empty(p):
        return 0, 0
    sums = {True: 0.0, False: 0.0}
    profile = json.loads(path.read_text())
    for t in profile["threads"]:
        for stack, ms in stacks(profile, t).items():
            sums[stack[0] in ("sleeping", "runnable")] += ms
    return round(sums[False] * 1e6), round(sums[True] * 1e6)


def of_perfetto(rec, args, path):
    p = call("perfetto", rec, "-o", path, *args)
    if is_empty(p):
        return 0, 0
    samples, off = perfetto(path, "SELECT count(*) FROM perf_sample", "SELECT sum(dur) FROM slice WHERE category = 'offcpu'")
    return samples[0][0] * PERIOD, off[0][0] or 0


def of_trace(rec, args, path):
    p = call("trace", "switch_with_stacks.sql", "-r", rec, "--output", path, *args)
    assert p.returncode == 0 or is_empty(p), p.stderr
    off = [e["dur"] for e in Trace(path).complete if e["cat"] == "offcpu"] if p.returncode == 0 else []
    return None, round(sum(off) * 1000)


def of_report(rec, args, path):
    run("report", rec, "-o", path, *args)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.S)[1])
    found = [data.get(f"api/functions?metric={metric}", {}) for metric in ("cpu", "offcpu")]
    return tuple(f.get("total", 0) for f in found)


@pytest.fixture(scope="module")
def by_sql(rec):
    """The table of each selection, which is queried once."""
    return functools.cache(lambda nth: table(rec, SELECTIONS[nth]))


READERS = {f.__name__[3:]: f for f in (of_pprof, of_folded, of_top, of_firefox, of_perfetto, of_trace, of_report)}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_exporter_takes_every_option(command):
    text = run(command, "--help").stdout
    assert [o for o in OPTIONS if o not in text] == []


# The subcommands share the selection's code: every reader gets every third selection, and each selection has two readers.
CASES = [pytest.param(reader, nth, id=f"{reader}-{' '.join(map(str, args)) or 'all'}")
         for turn, reader in enumerate(READERS) for nth, args in enumerate(SELECTIONS) if nth == 0 or (nth + turn) % 3 == 0]


@pytest.mark.parametrize("reader, nth", CASES)
def test_the_numbers_are_those_of_sql(rec, by_sql, tmp_path, reader, nth):
    expected, found = by_sql(nth), READERS[reader](rec, SELECTIONS[nth], tmp_path / "out")
    assert found[1] == expected[1]
    assert found[0] is None or found[0] == pytest.approx(expected[0], abs=SECOND / 1000)
