# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of stacktrace per sample, beside perf script and perf report on the same samples."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from measure import BUILD, ROOT, row, say

STACKTRACE = BUILD / "bin" / "stacktrace"
GENERATOR = [sys.executable, ROOT / "tests" / "bench" / "perfstream.py"]
LOAD = ["/usr/bin/python3", "-c", "import json\nx=[{'a':i} for i in range(3000)]\nfor _ in range(300): json.loads(json.dumps(x,indent=1))"]
RATE = "9973"  # Hz: about ten thousand stacks, which the generator repeats
MANY, FEW = 1000000, 100000  # perf itself takes minutes for more
SAMPLE_SZ = 8500
# perf takes longer for these. Each has as many samples as perf processes in a second or two.
OTHERS = {
    "sqlite3": ["sqlite3", ":memory:", "create table t as with recursive c(x) as (select 1 union all select x+1 from c where x<1000000) "
                "select x, x*7919%1000003 y from c; select count(*) from t a join t b on a.x = b.y;"],
    "git": ["git", "log", "--stat", "-40"],
    "gcc's cc1": ["gcc", "-O2", "-Isrc", "-I.", "-D_GNU_SOURCE", "-DSTACKS_VERSION=\"\"", "-c", "-o", "/dev/null", "src/process/process.c"],
}
READERS = {
    "perf script": ["perf", "script", "-i"],
    "perf report": ["perf", "report", "--stdio", "-i"],
}


def cost(argv, stdin=None):
    """(CPU seconds in total, CPU seconds in the kernel, peak MB)"""
    p = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, argv
    return used.ru_utime + used.ru_stime, used.ru_stime, used.ru_maxrss / 1024


def generate(recorded, count, path):
    with path.open("wb") as f:
        subprocess.run([*GENERATOR, recorded, str(count)], stdout=f, check=True)
    return path


def through_a_pipe(recorded, count):
    with subprocess.Popen([*GENERATOR, recorded, str(count)], stdout=subprocess.PIPE) as g:
        return cost([STACKTRACE], g.stdout)


def say_cost(how, used, count):
    """µs per sample"""
    seconds, kernel, mb = used
    row(f"stacktrace, {count} samples of python3 {how}, 8 KB of stack each",
        f"{1e6 * seconds / count:.2f} µs of CPU per sample, {1e6 * kernel / count:.2f} of it the kernel's; {mb:.0f} MB at most")
    return 1e6 * seconds / count


def frames(path):
    """The return addresses of all samples, as perf script unwinds or reads them."""
    out = subprocess.run(["perf", "script", "--no-inline", "-F", "tid,time,ip", "-i", path], capture_output=True, text=True, check=True).stdout
    return [[line if ":" in line else int(line, 16) for line in block.split("\n") if line.strip()] for block in out.split("\n\n")]


def say_equality(recorded, small):
    """perf reports a caller one byte before its return address."""
    theirs, ours = frames(recorded), frames(small)
    assert [sample[:1] for sample in theirs] == [sample[:1] for sample in ours]
    total = sum(len(sample[1:]) for sample in theirs)
    same = sum(a in (b, b - 1) for x, y in zip(theirs, ours) for a, b in zip(x[1:], y[1:]))
    row("… frames that are perf script's, too", f"{100 * same / total:.2f} % of {total} in {len(ours)} samples")


def record(path, argv):
    subprocess.run(["perf", "record", "-q", "-N", "-B", "-F", RATE, "-e", "cpu-clock:u", "--call-graph", "dwarf", "-o", path, "--",
                    *argv], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return path


def samples_in(path, *args):
    """(samples, % of them unwound to the root)"""
    said = subprocess.run([STACKTRACE, "-v", "-i", path, *args], capture_output=True, text=True, check=True).stderr
    received, root = re.search(r"TOTAL -- received (\d+) .*?([\d.]+)% to the root", said).groups()
    return int(received), root


def say_readers(what, path, count, ours, *small):
    for name, argv in READERS.items():
        theirs, *of_ours = (1e6 * cost([*argv, p])[0] / count for p in (path, *small))
        row(f"{name} of {what}", f"{theirs:.0f} µs per sample, {theirs / ours:.0f} × what stacktrace takes for a file" +
            "".join(f"; of what stacktrace made of them {us:.1f} µs" for us in of_ours))


def others(tmp):
    for program, argv in OTHERS.items():
        recorded = record(tmp / "other.data", argv)
        count, _ = samples_in(recorded, "-o", "/dev/null")
        many = generate(recorded, FEW, tmp / "many.data")
        ours = 1e6 * min(cost([STACKTRACE, "-i", many])[0] for _ in range(3)) / FEW
        row(f"stacktrace, {FEW} samples of {program} in a file", f"{ours:.2f} µs of CPU per sample")
        say_readers(f"{count} samples of {program}", recorded, count, ours)


def all_of_them(tmp, many):
    """All in one run and one perf.data."""
    programs = " & ".join(shlex.join(argv) for argv in (LOAD, *OTHERS.values()))
    recorded = record(tmp / "all.data", ["sh", "-c", programs + " & wait"])
    count, _ = samples_in(recorded, "-o", "/dev/null")
    file = generate(recorded, many, tmp / "many.data")
    ours = 1e6 * min(cost([STACKTRACE, "-i", file])[0] for _ in range(3)) / many
    file.unlink()
    row(f"stacktrace, {many} samples of all of them in a file", f"{ours:.2f} µs of CPU per sample")
    say_readers(f"{count} samples of all of them", recorded, count, ours)


def streams(tmp):
    many = min(MANY, shutil.disk_usage(tmp).free // SAMPLE_SZ // 2)
    say(f"stacktrace on {many} samples, perf on {FEW} of them")
    recorded, small = record(tmp / "recorded.data", LOAD), tmp / "few-small.data"
    few = generate(recorded, FEW, tmp / "few.data")
    count, root = samples_in(few, "-o", small)
    file = generate(recorded, many, tmp / "many.data")
    ours = say_cost("in a file", min(cost([STACKTRACE, "-i", file]) for _ in range(3)), many)
    file.unlink()
    say_cost("by a pipe", min(through_a_pipe(recorded, many) for _ in range(2)), many)
    row("… that reach the root", f"{root} %")
    row("… what comes out is smaller by", f"{few.stat().st_size / small.stat().st_size:.0f} ×")
    say_equality(few, small)
    say_readers("the same samples", few, count, ours, small)
    others(tmp)
    all_of_them(tmp, many)
