# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the parts of the benchmark: a collector run, and the table of the results."""
import os
import pathlib
import re
import subprocess
import sys
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
COLLECTOR = BUILD / "bin" / "collector"

COUNTS = """
SELECT count(*) FILTER (kind != 'lost'), coalesce(sum(weight) FILTER (kind != 'lost'), 0),
       coalesce(sum(amount) FILTER (kind = 'lost'), 0), count(unwind), count(*) FILTER (unwind = 'root')
FROM read_parquet(?)"""

SETTLED = 2  # seconds

rows = []


def row(what, value):
    rows.append((what, value))
    print(f"  {what}: {value}", file=sys.stderr)


def say(what):
    print(f"bench: {what} …", file=sys.stderr)


def cpu_of(pid):
    """CPU seconds of all threads of a process, to the nanosecond: the CPU clock of the process
    (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


class Run:
    """A collector run: the figures of its summary, and its recording."""

    def __init__(self, folder, *args):
        self.path = pathlib.Path(folder)
        self.proc = subprocess.Popen([COLLECTOR, "-d", folder, *args], stderr=subprocess.PIPE, text=True)
        for line in self.proc.stderr:
            if line.startswith("recording"):
                break
        # The process that does the work. The process that was started only waits for it.
        self.pid = int(pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0])
        self.cpu_at_start = self.cpu()

    def cpu(self):
        return cpu_of(self.pid)

    def settle(self):
        """Waits until the one-time work for the running programs is done."""
        time.sleep(SETTLED)
        self.cpu_at_start = self.cpu()

    def stop(self):
        self.cpu_used = self.cpu() - self.cpu_at_start
        self.proc.send_signal(2)
        self.err = self.proc.communicate()[1]
        bill = re.findall(r"^(\w+__\w+) +(\d+) +(\d+)", self.err, re.M)
        self.ns = {name: float(ns) for name, _, ns in bill}
        self.bpf_ns = sum(int(runs) * int(ns) for _, runs, ns in bill)
        self.size = sum(f.stat().st_size for f in self.path.glob("*.parquet"))
        self.rows = self.events = self.lost = walked = root = 0
        if self.size:  # a recording without events has no file
            self.rows, self.events, self.lost, walked, root = duckdb.execute(COUNTS, [f"{self.path}/events-*.parquet"]).fetchone()
        self.root = 100 * root / max(walked, 1)
        return self
