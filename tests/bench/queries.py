# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures how long the queries that read most rows take on ten million rows of all kinds, and on an hour of a busy machine."""
import os
import shutil
import subprocess
import sys
import time

from measure import BUILD, ROOT, row, say

sys.path.append(str(ROOT / "tests/lib"))
import manyrows  # noqa: E402

ROWS = 10_000_000
ROUNDS = 3
QUERIES = {
    "pprof": ["cpu_ustacks", "offcpu_stacks", "wake_wakers", "why_off_cpu", "ustack_rss_growth", "vfs_read_amount", "span_time",
              "usdt_ustack_trace_wait"],
    "query": ["time_by_stack", "why_off_cpu", "span_breakdown", "slow_spans"],
}


# 11.2 million events in 400 batches, of 12,500 processes; most stacks are in many batches.
HOUR = ["bench=11200000", "stacks=100000", "processes=12500", "every=8", "batch_ns=232000000"]
HOUR_COMMANDS = {"top": ["top"], "pprof cpu_stacks": ["pprof", "cpu_stacks.sql", "--output", "-"]}


def take(argv):
    """Seconds and CPU seconds of a command."""
    start = time.monotonic()
    p = subprocess.Popen([BUILD / "bin/stacksexport", *argv], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = p.stderr.read()
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f"bench: {argv}: {error.decode()}")
    return time.monotonic() - start, used.ru_utime + used.ru_stime


def measure_hour(tmp):
    folder = tmp / "hour"
    say("queries of an hour of a busy machine")
    subprocess.run([BUILD / "tests/write_recording", folder, *HOUR], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, argv in HOUR_COMMANDS.items():
        seconds, cpu = min(take([*argv, "-r", folder]) for _ in range(ROUNDS))
        row(f"an hour of 11 million rows: {name}", f"{seconds:.2f} s, {cpu:.2f} s of CPU")
    shutil.rmtree(folder)


def measure(tmp):
    measure_hour(tmp)
    folder = tmp / "queries"
    folder.mkdir()
    say(f"queries of {ROWS} rows")
    manyrows.write(folder, ROWS)
    for command, names in QUERIES.items():
        for name in names:
            of = [f"{name}_for_command.sql", "-c", "prog", "--output", tmp / "o.pb.gz"] if command == "pprof" else ["-f", f"{name}.sql"]
            seconds, cpu = min(take([command, *of, "-r", folder]) for _ in range(ROUNDS))
            row(f"{ROWS // 1_000_000} million rows: {command} {name}", f"{seconds:.2f} s, {cpu:.2f} s of CPU")
