# SPDX-License-Identifier: GPL-2.0-or-later
"""User call chains in separate records (PERF_RECORD_CALLCHAIN_DEFERRED, Linux 6.19): stacktrace passes them on and joins
them."""
import os
import re
import struct
import subprocess

import pytest

from perfdata import KERNEL, pprof, run, sysprof_samples

IP, TID, TIME, CHAIN, CPU, PERIOD = (1 << n for n in (0, 1, 2, 5, 7, 8))
SAMPLE, MMAP2, DEFERRED = 9, 10, 22
USER_MODE, KERNEL_MODE = 2, 1
CONTEXT_KERNEL, CONTEXT_USER, USER_DEFERRED = ((1 << 64) - n for n in (128, 512, 640))
PID = 4711


def rec(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def trailer(tid, time, cpu=0):
    return struct.pack("<IIQII", PID, tid, time, cpu, 0)


def sample(time, tid, chain, ip, mode=KERNEL_MODE):
    return rec(SAMPLE, mode, struct.pack(f"<QIIQIIQQ{len(chain)}Q", ip, PID, tid, time, 0, 0, 1, len(chain), *chain))


def deferred(time, tid, cookie, ips, marker=(CONTEXT_USER,)):
    chain = [*marker, *ips]
    return rec(DEFERRED, USER_MODE, struct.pack(f"<QQ{len(chain)}Q", cookie, len(chain), *chain) + trailer(tid, time))


def mapped(path):
    """The program's code mapped at its own addresses, as exec maps a program that is not position-independent."""
    st = os.stat(path)
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    off, addr, size = (int(x, 16) for x in re.search(r"LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", text).groups())
    name = str(path).encode() + b"\0"
    name += b"\0" * (-len(name) % 8)
    return rec(MMAP2, USER_MODE, struct.pack("<iIQQQIIQQII", PID, PID, addr, size, off, os.major(st.st_dev), os.minor(st.st_dev),
                                             st.st_ino, 0, 5, 2) + name + trailer(PID, 1))


def recording(*records):
    """A perf.data file as a stream, with call chains that the kernel defers (attr.defer_callchain, defer_output)."""
    flags = 1 << 18 | 1 << 23 | 1 << 38 | 1 << 39  # sample_id_all, mmap2
    attr = struct.pack("<IIQQQQQ", 1, 64, 0, 1, IP | TID | TIME | CHAIN | CPU | PERIOD, 0, flags) + b"\0" * 16
    head = rec(64, 0, attr + struct.pack("<Q", 1))
    return struct.pack("<8sQ", b"PERFILE2", 16) + head + b"".join(records)


PROGRAM = """
__attribute__((noinline)) void leaf(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) void middle(void) { leaf(); __asm__ volatile("nop"); }
int main(void) { for (;;) middle(); }
"""


@pytest.fixture
def program(compile_c):
    """The path of the program, and addresses a few bytes into each function."""
    path = compile_c(PROGRAM, "-O1", "-no-pie")
    symbols = subprocess.run(["nm", path], capture_output=True, text=True).stdout.split("\n")
    at = {line.split()[2]: int(line.split()[0], 16) + 1 for line in symbols if len(line.split()) == 3}
    return path, at


K1, K2 = KERNEL + 0x1000, KERNEL + 0x2000


def records(program):
    """Two samples in the kernel wait for one user chain, one sample is in user space, one of another thread is in between,
    and one has lost its chain."""
    path, at = program
    waits = [CONTEXT_KERNEL, K1, USER_DEFERRED]
    return [
        mapped(path),
        sample(10, 4711, [*waits, 7], K1),
        sample(11, 4711, [CONTEXT_KERNEL, K2, USER_DEFERRED, 7], K2),
        sample(12, 4712, [*waits, 8], K1),
        deferred(13, 4711, 7, [at["leaf"], at["middle"], at["main"]]),
        sample(14, 4711, [USER_DEFERRED, 9], at["leaf"], USER_MODE),
        deferred(15, 4711, 9, [at["leaf"], at["main"]]),
        deferred(16, 4712, 8, [at["main"]], marker=()),
        sample(17, 4711, [*waits, 10], K1),  # its record was lost …
        sample(18, 4711, [*waits, 11], K1),
        deferred(19, 4711, 11, [at["middle"], at["main"]]),
        sample(20, 4711, [*waits, 12], K1),  # … as was the last one's, by the end of the recording
        sample(21, 4712, [USER_DEFERRED, 13], at["leaf"], USER_MODE),
    ]


def expected(at):
    leaf, middle, main = at["leaf"], at["middle"], at["main"]
    kernel = [CONTEXT_KERNEL, K1]
    return [
        (10, 4711, [*kernel, CONTEXT_USER, leaf, middle, main]),
        (11, 4711, [CONTEXT_KERNEL, K2, CONTEXT_USER, leaf, middle, main]),
        (12, 4712, [*kernel, CONTEXT_USER, main]),
        (14, 4711, [CONTEXT_USER, leaf, main]),
        (17, 4711, kernel),
        (18, 4711, [*kernel, CONTEXT_USER, middle, main]),
        (20, 4711, kernel),
        (21, 4712, [CONTEXT_USER, leaf]),
    ]


def test_the_same_format_keeps_them(tmp_path, program):
    data = tmp_path / "in.data"
    data.write_bytes(recording(*records(program)))
    run("-i", data, "-o", tmp_path / "out.data", "--to=perf")
    body = b"".join(records(program))
    assert (tmp_path / "out.data").read_bytes().endswith(body)


@pytest.mark.parametrize("order", [1, -1])
def test_a_capture_has_joined_chains(tmp_path, program, order):
    """Also if the record of a thread that has changed its CPU comes before the sample."""
    body = records(program)
    data = tmp_path / "in.data"
    data.write_bytes(recording(*body[:1], *body[1:][::order]))
    run("-i", data, "-o", tmp_path / "out.syscap")
    samples, _ = sysprof_samples(tmp_path / "out.syscap")
    assert sorted((time, tid, addrs) for _, tid, time, addrs in samples) == expected(program[1])


def test_a_profile_has_joined_chains(tmp_path, program):
    data = tmp_path / "in.data"
    data.write_bytes(recording(*records(program)))
    run("-i", data, "-o", tmp_path / "out.pb.gz")
    top = pprof(tmp_path / "out.pb.gz", "-top", "-cum", "-symbolize=none")
    share = {name: percent for percent, name in re.findall(r" ([\d.]+)% +(\w+)$", top, re.M)}
    assert (share["main"], share["middle"], share["leaf"]) == ("62.50", "37.50", "50.00"), top  # 5, 3 and 4 of 8


def test_damaged_records_are_not_joined(tmp_path, program):
    """More entries than the record has, or no room for its thread."""
    path, at = program
    wrong = rec(DEFERRED, USER_MODE, struct.pack("<QQ", 7, 1 << 60) + trailer(4711, 11))
    short = rec(DEFERRED, USER_MODE, struct.pack("<Q", 7))
    data = tmp_path / "in.data"
    data.write_bytes(recording(mapped(path), sample(10, 4711, [CONTEXT_KERNEL, K1, USER_DEFERRED, 7], K1), wrong, short))
    run("-i", data, "-o", tmp_path / "out.syscap")
    samples, _ = sysprof_samples(tmp_path / "out.syscap")
    assert [(time, addrs) for _, _, time, addrs in samples] == [(10, [CONTEXT_KERNEL, K1])]
