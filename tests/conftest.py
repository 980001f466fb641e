# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the end-to-end tests: the built programs, and a collector to run."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import duckdb
import pytest

from recordings import SECOND, Batch, kernel, names

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
COLLECTOR = BUILD / "bin" / "collector"
EXPORT = BUILD / "bin" / "stacksexport"
EXAMPLES = BUILD / "examples"


def can_record():
    return os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux")


# Marks tests that depend on the whole machine: on its free CPUs, or on what else runs. tests/run runs them one at a time.
alone = pytest.mark.alone


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: the test runs while no other test does")


needs_bpf = pytest.mark.skipif(not can_record(), reason="needs root and a kernel with BTF (/sys/kernel/btf/vmlinux)")


class Recording:
    """A recording on disk, opened with DuckDB's own Parquet reader: events, stacktraces, stacks."""

    def __init__(self, path, returncode=0, stdout="", stderr=""):
        self.path, self.returncode, self.stdout, self.stderr = pathlib.Path(path), returncode, stdout, stderr
        self.db = None

    def open(self):
        self.db = duckdb.connect()
        self.db.execute("SET TimeZone = 'UTC'")
        self.db.execute(f"CREATE VIEW events AS FROM read_parquet('{self.path}/events-*.parquet')")
        self.db.execute(
            "CREATE VIEW stacktraces AS SELECT stack_id, any_value(frames) AS frames "
            f"FROM read_parquet('{self.path}/stacktraces-*.parquet') GROUP BY ALL"
        )
        self.db.execute(
            "CREATE VIEW stacks AS SELECT e.*, u.frames AS ustack, k.frames AS kstack FROM events e "
            "LEFT JOIN stacktraces u ON e.ustack_id = u.stack_id LEFT JOIN stacktraces k ON e.kstack_id = k.stack_id"
        )
        return self

    def rows(self, sql, *params):
        if self.db is None:
            self.open()
        return self.db.execute(sql, params).fetchall()

    def one(self, sql, *params):
        return self.rows(sql, *params)[0][0]

    def lost(self, *probes):
        """Events of these probes (default: all) that were lost for any reason. Each expected event is either recorded or
        lost."""
        return int(self.one("SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost' AND (len(?) = 0 OR list_contains(?, lost_kind))",
                            list(probes), list(probes)))

    def stacks(self, where="true"):
        """[(names leaf first, modules, status, row count)] of the user stacks."""
        return self.rows(
            "SELECT list_transform(ustack, lambda f: f.name), list_transform(ustack, lambda f: f.module), unwind, count(*) "
            f"FROM stacks WHERE ustack_id IS NOT NULL AND ({where}) GROUP BY ALL ORDER BY 4 DESC"
        )


def wait_for(condition, seconds=120):
    """Polls until condition() is true and returns its value. On a busy machine, tests wait for a state and not for a
    time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
    return found


def worked(pid):
    """CPU seconds of a process, all of its threads together."""
    return time.clock_gettime((~pid << 3) | 2)  # its CPU clock: clock_getcpuclockid(3)


def wait_worked(seconds, *processes):
    """Waits until each process has used this much more CPU time, that is, until it has that many samples, on a busy machine
    too."""
    before = {p.pid: worked(p.pid) for p in processes}
    for pid in before:
        wait_for(lambda: worked(pid) >= before[pid] + seconds)


def wait_switches(count, process):
    """Waits until its first thread has left the CPU this many more times."""
    def now():
        return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())))
    before = now()
    wait_for(lambda: now() >= before + count)


def wait_status(path, condition):
    """The content of the status file once the condition is true. A reader never sees it half-written."""
    def now():
        status = json.loads(path.read_text()) if path.exists() else None
        return status if status and condition(status) else None
    return wait_for(now)


class Collector:
    """A running collector."""

    def __init__(self, path, args, **popen):
        self.path = pathlib.Path(path)
        self.proc = subprocess.Popen(
            [COLLECTOR, "-d", self.path, *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen,
        )
        self.seen = ""

    @property
    def pid(self):
        """The process that does the work. The process that was started only waits for it."""
        return int(pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0])

    def wait_recording(self):
        """Waits for the line that says that events are on."""
        while line := self.next_line():
            self.seen += line
            if line.startswith("recording"):
                return self
        raise AssertionError(f"the collector ended early: {self.seen}")

    def next_line(self):
        """Reads the rest without waiting. communicate() does not see what the stream has read ahead."""
        line = b""
        while not line.endswith(b"\n") and (byte := os.read(self.proc.stderr.fileno(), 1)):
            line += byte
        return line.decode()

    def finish(self, timeout=300):
        out, err = self.proc.communicate(timeout=timeout)
        return Recording(self.path, self.proc.returncode, out, self.seen + err)

    def stop(self, sig=signal.SIGINT, timeout=300):
        self.proc.send_signal(sig)
        return self.finish(timeout)


@pytest.fixture
def start(tmp_path):
    """start(*args) → a recording Collector; killed at the end of the test."""
    running = []

    def go(*args, wait=True, name=None, **popen):
        c = Collector(tmp_path / (name or f"recording{len(running)}"), args, **popen)
        running.append(c)
        return c.wait_recording() if wait else c

    yield go
    for c in running:
        if c.proc.poll() is None:
            c.proc.kill()
            c.proc.communicate()


@pytest.fixture
def record(start):
    """record(*args) runs a collector that ends by itself. It must succeed."""

    def go(*args, status=0, **popen):
        r = start(*args, wait=False, **popen).finish(timeout=600)
        assert r.returncode == status, r.stderr
        return r

    return go


@pytest.fixture
def spawn():
    """spawn(*argv) → a process, killed at the end of the test."""
    procs = []

    def go(*argv, **popen):
        popen.setdefault("stdout", subprocess.PIPE)
        p = subprocess.Popen(list(map(str, argv)), text=True, **popen)
        procs.append(p)
        return p

    yield go
    for p in procs:
        if p.poll() is None:
            p.kill()
        p.communicate()


@pytest.fixture(scope="session")
def public():
    """public(program) → a copy that every user may run. The checkout may be closed to other users."""
    with tempfile.TemporaryDirectory(prefix="stacks-public-") as folder:
        folder = pathlib.Path(folder)
        (folder / "bin").mkdir()
        folder.chmod(0o755)

        def copy(program):
            to = folder / "bin" / program.name
            if not to.exists():
                shutil.copy(program, to)
            if program == EXPORT and not (folder / "lib").exists():
                shutil.copytree(BUILD / "lib", folder / "lib")
                shutil.copytree(BUILD / "share", folder / "share")
            return to

        yield copy


@pytest.fixture
def compile_c(tmp_path):
    """compile_c(source, *flags) → path of a program without frame pointers."""
    count = [0]

    def go(source, *flags, compiler="gcc", suffix=".c", name=None):
        count[0] += 1
        out = tmp_path / (name or f"prog{count[0]}")
        src = tmp_path / f"prog{count[0]}{suffix}"
        src.write_text(source)
        subprocess.run(
            [compiler, "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", out, src, *flags], check=True
        )
        return out

    return go


@pytest.fixture
def rec(tmp_path):
    """A small recording of two commands."""
    b = Batch()
    b.profile(10, names("hash", "lookup", "main", "_start"), count=3)
    b.profile(20, names("fib", "fib", "fib", "main", "_start"), count=2)
    b.profile(30, names("read", "main", "_start"), kernel("vfs_read", "do_syscall_64"))
    b.profile(40, names("poll", "run"), command="other", pid=200, tgid=200, buildid=b"\x99" * 20)
    b.add("lost", 2 * SECOND, duration=SECOND, amount=7, tgid=0, pid=0, command="", buildid=b"", lost_kind="switch", reason="ring_full")
    return b.write(tmp_path / "rec")


