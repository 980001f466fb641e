# SPDX-License-Identifier: GPL-2.0-or-later
"""What the soak and the kills share: a collector that is restarted like a service, and the check of its recording."""
import json
import os
import pathlib
import signal
import subprocess
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()


class Service:
    """A collector that continues its recording after it was killed."""

    def __init__(self, folder, *options):
        self.folder, self.status = folder / "recording", folder / "status"
        self.argv = [BUILD / "bin/collector", "--quiet", "--dir", self.folder, "--append", "--status", self.status, "--cache",
                     folder / "cache", *map(str, options)]
        self.log = open(folder / "log", "ab")
        self.proc, self.started_ns = None, 0

    def start(self):
        """Returns when events are recorded."""
        self.proc = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        line = self.proc.stderr.readline()
        while line and not line.startswith(b"recording"):
            self.log.write(line)
            line = self.proc.stderr.readline()
        if not line:
            raise SystemExit(f"the collector ended with {self.proc.wait()}; see {self.log.name}")
        os.set_blocking(self.proc.stderr.fileno(), False)
        self.started_ns = time.time_ns()

    def drain(self):
        self.log.write(self.proc.stderr.read() or b"")
        self.log.flush()

    def alive(self):
        self.drain()
        return self.proc.poll() is None

    def recorder(self):
        """The process that does the work."""
        return int(pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0])

    def kill(self):
        """Returns the time of the kill, in unix nanoseconds."""
        pid = self.recorder()
        at = time.time_ns()
        os.kill(pid, signal.SIGKILL)
        self.proc.wait()
        self.drain()
        return at

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        status = self.proc.wait(60)
        self.drain()
        return status

    def report(self):
        try:
            return json.loads(self.status.read_text())
        except (OSError, ValueError):
            return None


def batches(folder):
    return sorted(folder.glob("events-*.parquet"))


def check(folder):
    """Reads every value of every file. Returns (batches, rows, {reason: lost events}, [what is wrong])."""
    db, wrong, lost, rows = duckdb.connect(), [], {}, 0
    for events in batches(folder):
        stacks = events.with_name(events.name.replace("events", "stacktraces"))
        processes = events.with_name(events.name.replace("events", "processes"))
        try:
            rows += db.execute("SELECT count(*), bit_xor(hash(e)) FROM read_parquet(?) e", [str(events)]).fetchone()[0]
            db.execute("SELECT bit_xor(hash(s)) FROM read_parquet(?) s", [str(stacks)]).fetchone()
            db.execute("SELECT bit_xor(hash(p)) FROM read_parquet(?) p", [str(processes)]).fetchone()
            missing = db.execute("""SELECT count(*) FROM (SELECT ustack_id AS id FROM read_parquet($1) UNION SELECT kstack_id FROM read_parquet($1))
                WHERE id IS NOT NULL AND id NOT IN (SELECT stack_id FROM read_parquet($2))""", [str(events), str(stacks)]).fetchone()[0]
            if missing:
                wrong.append(f"{events.name}: {missing} stacks are missing")
            for reason, count in db.execute("""SELECT lost_kind || ': ' || reason, sum(amount)::BIGINT FROM read_parquet(?)
                    WHERE kind = 'lost' GROUP BY ALL""", [str(events)]).fetchall():
                lost[reason] = lost.get(reason, 0) + count
        except duckdb.Error as e:
            wrong.append(f"{events.name}: {e}")
    return len(batches(folder)), rows, lost, wrong


def newest_timestamp(folder):
    found = batches(folder)
    if not found:
        return 0
    return duckdb.execute("SELECT max(timestamp) FROM read_parquet(?)", [str(found[-1])]).fetchone()[0]
