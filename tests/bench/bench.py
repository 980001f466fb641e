# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints costs as Markdown tables. The figures hold for this machine and this run: read the ratios.

bench.py [sampling|switches|sources|unwinder|streams|writer|runtimes|queries|scale]…: without arguments, all of them.
sources=NAME,NAME… selects sources."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import queries
import runtimes
import scale
import sources
import streams
import unwinder
from measure import BUILD, ROOT, Run, row, rows, say

SECONDS = 10
TURNS = 3
# on two CPUs, most of it is the wake-up of an idle CPU
PIPE = ["taskset", "-c", "0", "perf", "bench", "sched", "pipe", "-l", "400000"]
BUSY = {
    "python3": ["/usr/bin/python3", "-c", "import json\nd=[{'id':i,'t':['a','b']} for i in range(500)]\nwhile 1: json.loads(json.dumps(d,indent=1))"],
    "sqlite3": ["sqlite3", ":memory:", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(DISTINCT x*x%1000003) FROM c"],
}

def usecs_per_op(argv):
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([\d.]+) usecs/op", out)[1])


def sampling(tmp):
    say(f"99 Hz on busy CPUs, {SECONDS} s")
    load = [subprocess.Popen(argv, stdout=subprocess.DEVNULL) for argv in BUSY.values()]
    time.sleep(1)
    try:
        r = Run(tmp / "profile", "-p", "profile:u:99")
        r.settle()
        time.sleep(SECONDS)
        r.stop()
        row("profile:u:99, BPF per sample", f"{r.ns['profile__sample']:.0f} ns")
        row("profile:u:99, python3 and sqlite3 busy: collector's CPU after its first two seconds", f"{100 * r.cpu_used / SECONDS:.2f} % of a core")
        row("… stacks that reach the root", f"{r.root:.1f} % of {r.rows}")
        row("… bytes per row, all included", f"{r.size / r.rows:.0f}")
        perf_sampling(tmp)
    finally:
        for p in load:
            p.kill()
            p.wait()


def perf_sampling(tmp):
    say("the same by perf record --call-graph dwarf")
    data = tmp / "perf.data"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["perf", "record", "-q", "-a", "-F", "99", "-g", "--call-graph", "dwarf,65528", "-o", data, "sleep", str(SECONDS)],
                   check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,ip,sym", "-i", data], capture_output=True, text=True).stdout
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    samples = max(1, len([s for s in out.split("\n\n") if s.strip()]))
    script = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
    row("perf record -F 99 --call-graph dwarf,65528: its CPU", f"{100 * cpu / SECONDS:.2f} % of a core")
    row("… and perf script's afterwards", f"{1e6 * script / samples:.0f} µs per sample")
    row("… bytes per sample", f"{data.stat().st_size / samples:.0f}")
    data.unlink()


def recorded(folder, source, alone):
    """Runs the collector during the switches. Returns the run and its slowdown factor of a switch."""
    r = Run(folder, "-p", source)
    start = time.monotonic()
    r.slowdown = usecs_per_op(PIPE) / alone
    r.seconds = time.monotonic() - start
    return r.stop()


def recorded_by_perf(data, alone):
    """Measures perf record as above: slowdown, events, bytes. None if perf record cannot do it."""
    p = subprocess.run(["perf", "record", "-a", "-e", "sched:sched_switch", "--call-graph", "dwarf,8192", "-o", data, "--", *PIPE],
                       capture_output=True, text=True)
    if p.returncode != 0 or not data.exists():
        return None
    stats = subprocess.run(["perf", "report", "--stats", "-i", data], capture_output=True, text=True).stdout
    size = data.stat().st_size
    data.unlink()
    return float(re.search(r"([\d.]+) usecs/op", p.stdout)[1]) / alone, int(re.search(r"SAMPLE events: +(\d+)", stats)[1]), size


def median(runs, key):
    return sorted(runs, key=key)[len(runs) // 2]


def switches(tmp):
    say(f"perf bench sched pipe on one CPU, alone, recorded, and by perf record -e sched:sched_switch --call-graph dwarf, {TURNS} times in turns")
    if not os.path.exists("/sys/kernel/tracing/events/sched"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], check=False)
    runs = {"switch:u": [], "switch:uk": []}
    by_perf = []
    for turn in range(TURNS):
        alone = usecs_per_op(PIPE)
        for source, of_source in runs.items():
            of_source.append(recorded(tmp / f"{source}.{turn}", source, alone))
        by_perf.append(recorded_by_perf(tmp / "perf.data", alone))
    for source, of_source in runs.items():
        print_switches(source, median(of_source, lambda r: r.slowdown))
    if all(by_perf):
        print_switches_by_perf(*median(by_perf, lambda r: r[0]))


def print_switches(source, r):
    row(f"{source}, BPF per switch", f"{r.ns['switch__switch']:.0f} ns")
    row(f"{source}, perf bench sched pipe on one CPU: slowdown", f"{r.slowdown:.2f}")
    row(f"… collector's CPU at {r.rows / r.seconds:.0f} rows/s", f"{100 * r.cpu_used / r.seconds:.1f} % of a core, {1e6 * r.cpu_used / r.rows:.2f} µs per row")
    row("… lost", f"{r.lost} of {r.rows + r.lost}")
    row("… bytes per row", f"{r.size / r.rows:.1f}")


def print_switches_by_perf(slowdown, events, size):
    row("perf record -e sched:sched_switch --call-graph dwarf,8192: slowdown", f"{slowdown:.2f}")
    row("… events that it has of 800,000", f"{events} ({100 * events / 800000:.0f} %)")
    row("… bytes per event", f"{size / max(events, 1):.0f}")


def tool(name, *args):
    """The output of a measuring program of tests/tools."""
    path = BUILD / "tests" / name
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(path)], cwd=ROOT, check=True)
    p = subprocess.run([path, *map(str, args)], capture_output=True, text=True, check=True)
    return p.stdout + p.stderr


def writer(tmp):
    say("the writer, a million rows")
    out = tool("write_recording", tmp / "written", "bench=1000000")
    for key, what in (("add_ns_per_row", "adding a row to a batch"), ("writer_ns_per_row", "sorting, encoding and writing a row, in its own thread")):
        row(what, re.search(key + r" ([\d.]+)", out)[1] + " ns")
    row("bytes per row, random mix of all columns", re.search(r"bytes_per_row ([\d.]+)", out)[1])


PARTS = {
    "sampling": sampling,
    "switches": switches,
    "unwinder": unwinder.measure,
    "streams": streams.streams,
    "writer": writer,
    "runtimes": runtimes.measure,
    "queries": queries.measure,
    "scale": scale.measure,
    "sources": sources.measure,
}


def main(wanted):
    if os.geteuid() != 0:
        sys.exit("bench: needs root")
    unknown = {w.partition("=")[0] for w in wanted} - set(PARTS)
    if unknown:
        sys.exit(f"usage: bench.py [{'|'.join(PARTS)}]…")
    tmp = pathlib.Path(tempfile.mkdtemp(prefix="stacks-bench-", dir="/var/tmp"))
    try:
        for part in wanted or PARTS:
            name, _, names = part.partition("=")
            PARTS[name](tmp, *([names.split(",")] if names else []))
    finally:
        shutil.rmtree(tmp)
    print(f"\n{time.strftime('%Y-%m-%d')}, {os.cpu_count()} CPUs, Linux {os.uname().release.split('-')[0]}")
    if rows:
        print("\n| what | measured |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")
    sources.print_table()


main(sys.argv[1:])
