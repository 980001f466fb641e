#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of stopped threads of Python and Java programs, by the collector and by independent tools: py-spy dump --native, and jhsdb jstack.

As root; make differential runs it. A line per tool; differing stacks are printed. Fails if more than 1 of 1,000 differ.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLLECTOR = ROOT / "build/bin/collector"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/lib"), str(ROOT / "tests/e2e")]
PY_SPY = ROOT / ".deps/differential/bin/py-spy"

STACKS = "SELECT DISTINCT ON (e.pid) e.pid, s.frames FROM read_parquet('{0}/events-*') e JOIN read_parquet('{0}/stacktraces-*') s ON e.ustack_id = s.stack_id WHERE e.kind = 'switch' ORDER BY e.pid, e.timestamp DESC"


def wait_for(path):
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.1)
    raise TimeoutError(path)


def recorded(folder, pid):
    """{tid: frames} of a process of which no thread runs."""
    subprocess.run([COLLECTOR, "-d", folder, "-p", "switch:u", "--duration", "3s", "--pid", str(pid)], check=True, capture_output=True)
    return dict(duckdb.sql(STACKS.format(folder)).fetchall())


def report(name, threads, equal, differing):
    print(f"| {name} | {threads} | {equal} | {100 * equal / max(threads, 1):.2f} |", flush=True)
    for thread, (ours, theirs) in differing.items():
        print(f"{thread}:", *(f"  {a or ''}\n    {b or ''}" for a, b in zip(ours + [None] * 999, theirs + [None] * 999) if a != b), sep="\n", file=sys.stderr)
    return equal >= 0.999 * threads and threads > 40


def compare(name, ours, theirs):
    differing = {t: (ours.get(t, []), theirs[t]) for t in theirs if ours.get(t, []) != theirs[t]}
    return report(name, len(theirs), len(theirs) - len(differing), differing)


# ---- Python ---------------------------------------------------------------------------------------------------------

def comparable(frames):
    """Without native frames of the interpreter's own file, and with one for all native frames of a file in a row: py-spy
    leaves out functions for which it has no symbol."""
    frames = [f for f in frames if f[0] != "native" or not re.match(r"(lib)?python", f[1])]
    return [f for before, f in zip([None, *frames], frames) if f[0] != "native" or f != before]


def by_py_spy(frame):
    if frame["module"]:
        return "native", os.path.basename(frame["module"])
    return frame["name"], frame["filename"], frame["line"]


def by_collector(frame):
    if frame["mark"] in ("python", "python_order"):
        return frame["name"], frame["module"], frame["line"]
    return "native", os.path.basename(frame["module"])


def python(folder, interpreter):
    import test_python
    script, said = folder / "waiting.py", folder / "said"
    script.write_text(test_python.WAITING)
    program = subprocess.Popen([interpreter, script, said])
    try:
        wait_for(said)
        dump = subprocess.run([PY_SPY, "dump", "--native", "--json", "--pid", str(program.pid)], check=True, capture_output=True, text=True).stdout
        theirs = {t["os_thread_id"]: comparable([by_py_spy(f) for f in t["frames"]]) for t in json.loads(dump)}
        found = recorded(folder / "recording", program.pid)
        ours = {t: comparable([by_collector(f) for f in s if f["mark"] not in ("interpreter", "waits")]) for t, s in found.items()}
        return compare(f"py-spy dump --native, {interpreter}", ours, theirs)
    finally:
        program.kill()
        program.wait()


# ---- Java -----------------------------------------------------------------------------------------------------------

JAVA_FRAME = re.compile(r" - (?P<name>[^(]+)\(.*?\) @bci=-?\d+(?:, line=(?P<line>\d+))?")


def java_name(name):
    """Without the number and the address in the names of hidden classes."""
    return re.sub(r"(\$\$Lambda)[^.]*?[/+](?:0x)?[0-9a-f]+|[/+](?:0x)?[0-9a-f]+(?=[.])", r"\1", name)


def said_by_jhsdb(text):
    """{name of the thread: [(function, line)]}"""
    threads, frames = {}, None
    for line in text.splitlines():
        header = re.match(r'"(.*)" #\d+', line)
        frame = JAVA_FRAME.match(line)
        if header:
            frames = threads.setdefault(header[1], [])
        elif frame and frames is not None:
            frames.append((java_name(frame["name"]), int(frame["line"] or 0)))
    return {t: f for t, f in threads.items() if re.match(r"t\d+$", t)}


def java(folder, vm):
    import test_java
    (folder / "Waits.java").write_text(test_java.SOURCES["Waits"])
    subprocess.run(["javac", "-Xlint:none", "-d", folder, folder / "Waits.java"], check=True)
    said, fifo = folder / "java_said", folder / "fifo"
    os.mkfifo(fifo)
    program = subprocess.Popen([vm, "-Xmx64m", "-cp", folder, "Waits", said, fifo])
    try:
        wait_for(said)
        found = recorded(folder / "java", program.pid)
        jhsdb = pathlib.Path(os.path.realpath(shutil.which(vm))).with_name("jhsdb")
        text = subprocess.run([jhsdb, "jstack", "--pid", str(program.pid)], check=True, capture_output=True, text=True).stdout
        names = {t: pathlib.Path(f"/proc/{program.pid}/task/{t}/comm").read_text().strip() for t in found}
        ours = {names[t]: [(java_name(f["name"] or "?"), f["line"] or 0) for f in s if (f["mark"] or "").startswith("java_")] for t, s in found.items()}
        return compare(f"jhsdb jstack, {vm}", ours, said_by_jhsdb(text))
    finally:
        program.kill()
        program.wait()


def main():
    good = True
    print("| tool | stopped threads | equal stacks | % |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="stopped-") as tmp:
        if PY_SPY.exists():
            good &= python(pathlib.Path(tmp), "/usr/bin/python3")
        if shutil.which("jhsdb"):
            good &= java(pathlib.Path(tmp), "java")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
