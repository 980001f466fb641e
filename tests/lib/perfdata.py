# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads perf.data with the perf tool, and captures of sysprof with sysprof's own library."""
import os
import shutil
import struct
import subprocess

import pytest

from conftest import BUILD, ROOT

STACKTRACE = BUILD / "bin" / "stacktrace"
PPROF = ROOT / ".deps" / "bin" / "pprof"
PERF = shutil.which("perf")
KERNEL = 1 << 63
UNKNOWN = (1 << 64) - 1  # here perf script could not continue
CONTEXT_MAX = (1 << 64) - 4095


def perf(*args, **kw):
    return subprocess.run([PERF, *map(str, args)], capture_output=True, timeout=120, **kw)


def can_sample():
    if PERF is None:
        return False
    return subprocess.run([PERF, "record", "-q", "-N", "-B", "-e", "cpu-clock", "-o", "/dev/null", "true"],
                          capture_output=True, timeout=60).returncode == 0


needs_perf = pytest.mark.skipif(not can_sample(), reason="needs linux-perf and the right to sample")


def run(*args, status=0, **kw):
    """Runs stacktrace."""
    p = subprocess.run([STACKTRACE, *map(str, args)], capture_output=True, timeout=120, **kw)
    assert p.returncode == status, p.stderr
    return p


def record(path, *command, options=()):
    """Runs perf record on the command, with stacks."""
    p = perf("record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-N", "-B", *options, "-o", path, "--", *command)
    assert p.returncode == 0, p.stderr
    return path


def pprof(path, *args):
    """The output of google/pprof for a profile."""
    p = subprocess.run([PPROF, *args, path], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": "/nowhere"})
    assert (p.returncode, p.stderr) == (0, "")
    return p.stdout


def chains(path):
    """[(thread and time, kernel addresses, user addresses)] of all samples, as perf script unwinds or reads them."""
    out = perf("script", "-i", path, "--no-inline", "--max-stack", "1024", "-F", "tid,time,ip", text=True)
    assert out.returncode == 0, out.stderr
    samples = []
    for block in out.stdout.split("\n\n"):
        lines = block.split("\n")
        head = next((i for i, line in enumerate(lines) if line.rstrip().endswith(":")), None)
        if head is None:
            continue
        ips = [int(line.split()[0], 16) for line in lines[head + 1:] if line.strip()]
        kernel = [ip for ip in ips if KERNEL <= ip < CONTEXT_MAX]
        samples.append((lines[head].strip(), kernel, [ip for ip in ips if ip < KERNEL]))
    return samples


class Samples:
    """The samples of a perf.data file with one event, their registers and stacks: the tests make captures from them."""

    def __init__(self, path):
        data = path.read_bytes()
        attrs, _, at, size = struct.unpack_from("<4Q", data, 24)
        self.type, = struct.unpack_from("<Q", data, attrs + 24)
        self.mask, = struct.unpack_from("<Q", data, attrs + 80)
        self.maps, self.stacks = [], []  # each in order of time
        end = at + size
        while at < end:
            kind, _, sz = struct.unpack_from("<IHH", data, at)
            if kind == 9:
                self.stacks.append(self.sample(data, at + 8))
            if kind == 10:
                self.maps.append(self.mmap2(data, at, sz))
            at += sz
        for rows in self.maps, self.stacks:
            rows.sort(key=lambda row: row[2])

    def sample(self, data, at):
        """(pid, tid, time, registers, stack bytes) of a cpu-clock sample with IP|TID|TIME|ADDR|CALLCHAIN|PERIOD|…"""
        assert self.type & ~0x8000 == 0x312f & ~0x8000, hex(self.type)
        _, pid, tid, time, _, _, chain = struct.unpack_from("<QIIQQQQ", data, at)
        at += 48 + 8 * chain
        abi, = struct.unpack_from("<Q", data, at)
        cnt = self.mask.bit_count() if abi else 0
        regs = struct.unpack_from(f"<{cnt}Q", data, at + 8)
        at += 8 + 8 * cnt
        size, = struct.unpack_from("<Q", data, at)
        used = struct.unpack_from("<Q", data, at + 8 + size)[0] if size else 0
        return pid, tid, time, regs, data[at + 8:at + 8 + used]

    @staticmethod
    def mmap2(data, at, sz):
        """(pid, tid, time, start, length, offset, inode, protection, name). The time is the last field of the sample id."""
        pid, tid, start, length, off, _, ino, _, prot = struct.unpack_from("<iIQQQQQQI", data, at + 8)
        name = data[at + 72:at + sz].split(b"\0")[0]
        time, = struct.unpack_from("<Q", data, at + sz - 8)
        return pid, tid, time, start, length, off, ino, prot, name


def frame(kind, pid, time, body):
    """One frame of a capture."""
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<HhiqB7x", 24 + len(body), 0, pid, time, kind) + body


def capture_of(samples):
    """A capture with the mappings of a perf.data file, and with its stacks as frames of type 18."""
    frames = []
    for pid, _, time, start, length, off, ino, prot, name in samples.maps:
        if prot & 4 and pid > 0:
            frames.append((time, frame(3, pid, time, struct.pack("<4Q", start, start + length, off, ino) + name + b"\0\0")))
    for pid, tid, time, regs, stack in samples.stacks:
        stack += b"\0" * (-len(stack) % 8)
        frames.append((time, frame(18, pid, time, struct.pack("<QiI", len(stack), tid, 0) + stack +
                                   struct.pack(f"<II{len(regs)}Q", len(regs), 2, *regs))))
    frames.sort(key=lambda row: row[0])  # a stack is unwound with the mappings of its time
    return b"\x5e\x97\xca\xfd\x01\x01" + b"\0" * 250 + b"".join(body for _, body in frames)


def sysprof_samples(path):
    """[(pid, tid, time, addresses)] of a capture, and the number of frames of each other type, by sysprof's library."""
    p = subprocess.run([BUILD / "tests" / "sysprof_frames", path], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, "sysprof does not read it"
    samples, others = [], {}
    for what, *numbers in map(str.split, p.stdout.splitlines()):
        first, *rest = map(int, numbers)
        if what == "sample":
            samples.append((first, *rest[:2], rest[2:]))
        else:
            others[first] = others.get(first, 0) + 1
    return samples, others
