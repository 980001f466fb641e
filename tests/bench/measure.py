# SPDX-License-Identifier: GPL-2.0-or-later
"""What the parts of the benchmark share: a run of the collector, and the table of what was measured."""
import os
import pathlib
import re
import subprocess
import sys

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
COLLECTOR = BUILD / "bin" / "collector"

rows = []


def row(what, value):
    rows.append((what, value))
    print(f"  {what}: {value}", file=sys.stderr)


def say(what):
    print(f"bench: {what} …", file=sys.stderr)


class Run:
    """A collector run: its summary's figures and its recording."""

    def __init__(self, folder, *args):
        self.path = pathlib.Path(folder)
        self.proc = subprocess.Popen([COLLECTOR, "-d", folder, *args], stderr=subprocess.PIPE, text=True)
        for line in self.proc.stderr:
            if line.startswith("recording"):
                break
        self.cpu_at_start = self.cpu()

    def cpu(self):
        utime, stime = pathlib.Path(f"/proc/{self.proc.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return (int(utime) + int(stime)) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.cpu_used = self.cpu() - self.cpu_at_start
        self.proc.send_signal(2)
        self.err = self.proc.communicate()[1]
        bill = re.findall(r"^(\w+__\w+) +(\d+) +(\d+)", self.err, re.M)
        self.ns = {name: float(ns) for name, _, ns in bill}
        self.bpf_ns = sum(int(runs) * int(ns) for _, runs, ns in bill)
        self.size = sum(f.stat().st_size for f in self.path.glob("*.parquet"))
        db = duckdb.connect()
        events = f"read_parquet('{self.path}/events-*.parquet')"
        self.rows, self.events = db.execute(f"SELECT count(*), coalesce(sum(weight), 0) FROM {events} WHERE kind != 'lost'").fetchone()
        self.lost = db.execute(f"SELECT coalesce(sum(amount), 0) FROM {events} WHERE kind = 'lost'").fetchone()[0]
        walked, root = db.execute(f"SELECT count(unwind), count(*) FILTER (unwind = 'root') FROM {events}").fetchone()
        self.root = 100 * root / max(walked, 1)
        return self
