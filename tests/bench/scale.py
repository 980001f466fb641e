# SPDX-License-Identifier: GPL-2.0-or-later
"""Many processes, many mappings, and many of both per second: how soon the collector knows them, and what that costs."""
import contextlib
import pathlib
import subprocess
import sys
import time

import duckdb

from measure import BUILD, ROOT, Run, row, say

sys.path.append(str(ROOT / "tests/lib"))
from crowds import JIT, MANY, OPENED, OPENS, anonymous_mb  # noqa: E402

PROCESSES, MAPPED = 500, 20  # the rest of the 28,000 mappings are those that every program has
ROUNDS = 5
SECONDS = 5
PROGRAMS = 3000
EXECS = f"i=0; while [ $i -lt {PROGRAMS} ]; do /bin/true; i=$((i+1)); done"


def compiled(tmp, name, source, *flags):
    subprocess.run(["gcc", "-O2", "-x", "c", "-o", tmp / name, "-", *flags], input=source, text=True, check=True)
    return tmp / name


@contextlib.contextmanager
def running(*argv):
    """Yields the process once it has printed a line or has started."""
    p = subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True)
    try:
        yield p
    finally:
        p.kill()
        p.communicate()


def scans(cold):
    """(processes, executable mappings, ms, ms of CPU) for each time that the collector reads /proc."""
    tool = BUILD / "bench" / "scale"
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(tool)], cwd=ROOT, check=True)
    for _ in range(ROUNDS):
        if cold:
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("2\n")
        yield [float(field) for field in subprocess.run([tool], capture_output=True, text=True, check=True).stdout.split()]


def span(values, digits=0):
    return f"{min(values):.{digits}f}–{max(values):.{digits}f}"


def first_sample_ms(tmp, name):
    """From the start of the collector."""
    start_ns = time.time_ns()
    r = Run(tmp / name, "-p", "profile:u:999")
    time.sleep(0.3)
    r.stop()
    return (duckdb.execute("SELECT min(timestamp) FROM read_parquet(?)", [f"{r.path}/events-*.parquet"]).fetchone()[0] - start_ns) / 1e6


def first_samples(tmp, who):
    with running("sh", "-c", "while :; do :; done"):
        took = [first_sample_ms(tmp, f"first-{who}-{i}") for i in range(ROUNDS)]
    row(f"from the collector's start to its first sample (profile:u:999), {who}", f"{span(took)} ms")


def crowd(tmp):
    first_samples(tmp, "alone")
    with running(compiled(tmp, "many", MANY), PROCESSES, MAPPED) as many:
        many.stdout.readline()
        for what in ("cold", "warm"):
            _, mappings, wall, cpu = zip(*scans(what == "cold"))
            row(f"/proc with {PROCESSES} processes of {max(mappings):.0f} executable mappings among all, read {what}",
                f"{span(wall)} ms, {span(cpu)} ms of CPU")
        first_samples(tmp, f"with these {PROCESSES} processes")
        r = Run(tmp / "many-recorded", "-p", "switch:u", "many")
        time.sleep(SECONDS)
        row(f"… memory of the collector after {SECONDS} s of switch:u of these, beside the rings", f"{anonymous_mb(r.pid):.0f} MB")
        r.stop()


def programs(tmp):
    """Two shells start programs one after the other. Four times as many programs leave no more behind."""
    def start():
        begin = time.monotonic()
        for p in [subprocess.Popen(["sh", "-c", EXECS]) for _ in range(2)]:
            p.wait()
        return 2 * PROGRAMS / (time.monotonic() - begin)

    alone = start()
    r = Run(tmp / "programs", "-p", "profile:u:99,exec:u", "sh")
    recorded = [start()]
    used, early = r.cpu() - r.cpu_at_start, anonymous_mb(r.pid)
    recorded += [start() for _ in range(3)]
    late = anonymous_mb(r.pid)
    r.stop()
    row(f"programs that start and end, {alone:.0f} a second", f"recorded {max(recorded):.0f} a second; collector's CPU {1e6 * used / 2 / PROGRAMS:.0f} µs each")
    row(f"… memory of the collector after {2 * PROGRAMS} and {8 * PROGRAMS} of them; lost", f"{early:.0f} and {late:.0f} MB; {r.lost} of {r.rows + r.lost}")


def mappings(tmp):
    """A library that is loaded 10,000 times, and a JIT that maps and unmaps a page 1,000 times a second."""
    library = compiled(tmp, "often.so", OPENED, "-shared", "-fPIC")
    r = Run(tmp / "opens", "-p", "profile:u:499", "dlopens")
    subprocess.run([compiled(tmp, "dlopens", OPENS, "-ldl"), library], check=True)
    r.stop()
    row("10,000 times dlopen: collector's CPU each", f"{1e6 * r.cpu_used / 10000:.0f} µs; {r.root:.1f} % of {r.rows} stacks reach the root; {r.lost} lost")
    with running(compiled(tmp, "comes", JIT)) as comes:
        r = Run(tmp / "comes-recorded", "-p", "profile:u:499", "comes")
        time.sleep(SECONDS)
        r.stop()
        pathlib.Path(f"/tmp/perf-{comes.pid}.map").unlink()
    row("a JIT that maps and unmaps code 1,000 times a second: collector's CPU", f"{100 * r.cpu_used / SECONDS:.1f} % of a core; {r.root:.1f} % of {r.rows} stacks reach the root; {r.lost} lost")


def measure(tmp):
    say(f"{PROCESSES} processes")
    crowd(tmp)
    say("programs that start and end")
    programs(tmp)
    say("mappings that come and go")
    mappings(tmp)
