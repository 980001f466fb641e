# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes without rights parse the files of others: what they lack, and what their deaths cost."""
import ctypes
import math
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from conftest import BUILD, needs_bpf, wait_for, wait_worked, worked
from test_files import BUSY, lost

pytestmark = needs_bpf

KILLS = 1000


def children(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def starters(folder):
    """The processes that start workers for the collector that writes to this folder. They have left the collector, but they have its
    command line. Until a worker names itself, it has the name of its parent."""

    def is_one(process):
        try:
            return (process / "comm").read_text() == "stacks-starter\n" and os.fsencode(folder) in (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False

    named = [int(p.name) for p in pathlib.Path("/proc").glob("[0-9]*") if is_one(p)]
    forked = {child for pid in named for child in children(pid)}
    return [pid for pid in named if pid not in forked]


def starter_of(c):
    (pid,) = starters(c.path)
    return pid


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line.partition(":")[0]: line.partition(":")[2].split() for line in lines}


def test_the_kernel_says_what_a_worker_lacks(start):
    c = start("-p", "profile:u:99", "nothing")
    starter = starter_of(c)
    (worker,) = children(starter)
    s = status_of(worker)
    assert (s["Seccomp"], s["NoNewPrivs"], s["Groups"]) == (["2"], ["1"], [])
    assert set(s["Uid"] + s["Gid"]) == {"65534"}
    assert {s[f"Cap{name}"][0] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    for name in "net", "mnt", "pid", "ipc", "uts":
        assert os.readlink(f"/proc/{worker}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}"), name
    mounts = [line.split() for line in pathlib.Path(f"/proc/{worker}/mountinfo").read_text().splitlines()]
    assert [(m[4], m[5].split(",")[0], m[m.index("-") + 1]) for m in mounts] == [("/", "ro", "tmpfs")]
    open_files = {os.readlink(p) for p in pathlib.Path(f"/proc/{worker}/fd").iterdir()}
    assert {f.partition(":")[0] for f in open_files} == {"/dev/null", "socket"}
    assert set(status_of(starter)["CapEff"]) == {"00000000000000e0"}
    for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:  # a terminal and a service manager send them to all
        os.kill(worker, sig)
        os.kill(starter, sig)
    assert is_alive(worker) and is_alive(starter)
    assert c.stop().returncode == 0
    wait_for(lambda: not os.path.exists(f"/proc/{starter}") and not os.path.exists(f"/proc/{worker}"))


def test_workers_are_not_recorded(start, spawn, compile_c):
    c = start("-p", "profile:u:999,switch:u", "--no-cache")
    starter = starter_of(c)
    own = {starter, *children(starter)}
    wait_worked(0.5, spawn(compile_c(BUSY, name="busy")))
    own |= set(children(starter))
    r = c.stop()
    assert r.one("SELECT count(*) FROM events WHERE command = 'busy'") > 10
    assert r.one(f"SELECT count(*) FROM events WHERE tgid IN {tuple(own)}") == 0


# Uses 8 ms of CPU time. Without .eh_frame_hdr its table is built at its first sample.
SHORT = """
#include <time.h>
static volatile unsigned long n;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 100000; i++) n++; }
__attribute__((noinline)) static void work(void) { while (clock() < CLOCKS_PER_SEC / 125) spin(); n++; }
int main(void) { work(); n++; return 0; }
"""


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


class Killer(threading.Thread):
    """Kills each worker after a random CPU time, so that a busy machine does not make its life shorter."""

    def __init__(self, starter):
        super().__init__()
        self.starter, self.kills, self.over, self.ends = starter, 0, False, {}

    def meet(self, pid):
        """Kills the worker if its time is over, once."""
        try:
            if worked(pid) >= self.ends.setdefault(pid, random.random() * 0.0006):
                os.kill(pid, signal.SIGKILL)
                self.ends[pid] = math.inf
                self.kills += 1
        except OSError:
            pass

    def run(self):
        while not self.over:
            for pid in filter(is_alive, children(self.starter)):
                self.meet(pid)
            time.sleep(0.0002)


def test_a_thousand_kills_of_workers_lose_no_row(start, compile_c, tmp_path):
    """Every program is a new file, and a worker builds its table. Each stack is walked and has its names."""
    program = compile_c(SHORT, "-Wl,--no-eh-frame-hdr", name="short")
    program.chmod(0o777)  # other users can write it, so that its build ID is not believed
    copies = tmp_path / "copies"
    copies.mkdir()
    c = start("-p", "profile:u:999", "--no-cache", "--ring-size", "64M")
    starter = starter_of(c)
    killer = Killer(starter)
    killer.start()
    try:
        count = 0
        while killer.kills < KILLS and count < 10 * KILLS:
            names = [copies / f"short{count + i}" for i in range(4)]
            for name in names:
                shutil.copy(program, name)
            for p in [subprocess.Popen([name]) for name in names]:
                assert p.wait() == 0
            count += len(names)
    finally:
        killer.over = True
        killer.join()
    r = c.stop()
    assert killer.kills >= KILLS
    assert r.returncode == 0, r.stderr
    assert lost(r) == 0
    assert str(copies) not in r.stderr  # no file was given up
    short = "kind = 'profile' AND command LIKE 'short%' AND ustack_id IS NOT NULL"
    assert dict(r.rows(f"SELECT unwind, count(*) FROM events WHERE {short} GROUP BY 1")).keys() == {"root"}, r.stderr
    assert r.one(f"SELECT count(DISTINCT command) FROM events WHERE {short}") > 0.9 * count
    working = "list_contains(list_transform(ustack, lambda f: f.name), 'work')"
    assert r.one(f"SELECT count(*) FROM stacks WHERE {short} AND {working}") > 0.7 * r.one(f"SELECT count(*) FROM stacks WHERE {short}")


# All calls by which a process can read a file or another process.
READING = "read", "readv", "pread64", "preadv", "preadv2", "mmap", "sendfile", "splice", "copy_file_range", "process_vm_readv", "io_uring_setup"


def reads(trace, program):
    """The ranges that processes have read from a file, by the output of strace -y. None of them maps it, or reads it without an offset.

    The main thread of the collector reads pages (preadv2) with section headers, single FDEs, or a few bytes of code: they may have more."""
    file = rf"\d+<{re.escape(str(program))}>"
    text = trace.read_text()
    assert re.findall(rf"(?:\b(?:read|readv|sendfile|splice|copy_file_range)\({file}|\bmmap\(.*, {file}|\b(?:process_vm_readv|io_uring_setup)\().*", text) == []
    found = re.findall(rf"pread64\({file}, .*, (\d+)\) = (\d+)", text)
    return [(int(at), int(at) + int(sz)) for at, sz in found]


def section(program, name):
    """The range of a section in the file."""
    text = subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout
    at, sz = re.search(rf" {re.escape(name)} +\S+ +\S+ (\S+) (\S+)", text).groups()
    return int(at, 16), int(at, 16) + int(sz, 16)


def overlap(ranges, begin, end):
    return [r for r in ranges if r[0] < end and r[1] > begin]


@pytest.fixture
def trace_reads(spawn, tmp_path):
    """Traces what the collector and its workers read from now on. Returns a function that, after their end, returns the ranges that each side has read from a file."""

    def begin(c):
        starter = starter_of(c)
        sides = [[c.pid], [starter, *children(starter)]]
        traces = [tmp_path / "trace-of-collector", tmp_path / "trace-of-workers"]
        options = ["-f", "-y", "-e", f"trace={','.join(READING)}", "-e", "signal=none"]
        straces = [spawn("strace", *options, "-o", to, "-p", ",".join(map(str, pids)), stderr=subprocess.DEVNULL) for pids, to in zip(sides, traces)]
        wait_for(lambda: all(status_of(pid)["TracerPid"] != ["0"] for pids in sides for pid in pids))

        def of(file):
            for strace in straces:
                strace.wait()
            return [reads(trace, file) for trace in traces]

        return of

    return begin


needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


@needs_strace
def test_the_collector_opens_a_file_and_a_worker_reads_its_symbols(start, spawn, compile_c, trace_reads):
    c = start("-p", "profile:u:199", "--no-cache", "traced")
    reads_of = trace_reads(c)
    program = compile_c(BUSY, name="traced")
    wait_worked(0.5, spawn(program))
    r = c.stop()
    assert ["spin", "work", "main"] in [names[:3] for names, _, _, _ in r.stacks("kind = 'profile'")]
    by_collector, by_workers = reads_of(program)
    for name in ".symtab", ".strtab":
        assert overlap(by_collector, *section(program, name)) == []
        assert overlap(by_workers, *section(program, name)) != []


# `bare` has no call-frame information: its rules come from its instructions, and those of the code around it.
BARE = """
__asm__(".globl bare\\nbare: push %rbx\\n mov $100000,%rbx\\n1: dec %rbx\\n jnz 1b\\n pop %rbx\\n ret\\n");
void bare(void);
__attribute__((noinline)) void work(void) { bare(); __asm__ volatile("" ::: "memory"); }
int main(void) { for (;;) work(); }
"""
FEW_BYTES = 64  # that tell a signal trampoline


@needs_strace
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its code is of x86-64")
def test_a_worker_reads_the_code_of_a_file(start, spawn, compile_c, trace_reads):
    c = start("-p", "profile:u:199", "--no-cache", "traced")
    reads_of = trace_reads(c)
    program = compile_c(BARE, name="traced")
    wait_worked(0.5, spawn(program))
    r = c.stop()
    assert ["bare", "work", "main"] in [names[:3] for names, _, _, _ in r.stacks("kind = 'profile'")]
    by_collector, by_workers = reads_of(program)
    assert [at for at in overlap(by_collector, *section(program, ".text")) if at[1] - at[0] > FEW_BYTES and at[0]] == []
    assert overlap(by_workers, *section(program, ".text")) != []


@needs_strace
@pytest.mark.parametrize("kind", ["map", "dump"])
def test_the_collector_opens_files_of_jit_code_and_a_worker_reads_them(start, spawn, tmp_path, trace_reads, kind):
    c = start("-p", "profile:u:499", "jit_program")
    reads_of = trace_reads(c)
    program = spawn(BUILD / "tests" / "jit_program", 1500, kind, tmp_path)
    program.wait()
    r = c.stop()
    file = {"map": pathlib.Path(f"/tmp/perf-{program.pid}.map"), "dump": tmp_path / f"jit-{program.pid}.dump"}[kind]
    file.unlink()
    assert r.one("SELECT count(*) FROM stacks WHERE list_contains(list_transform(ustack, lambda f: f.name), 'second')") > 10
    by_collector, by_workers = reads_of(file)
    assert by_collector == [] and by_workers != []


DESCRIPTOR_SZ = 24  # of a list for gdb


@needs_strace
def test_a_worker_reads_the_images_of_a_list_for_gdb(start, spawn, tmp_path, trace_reads):
    c = start("-p", "profile:u:499", "jit_program")
    reads_of = trace_reads(c)
    program = spawn(BUILD / "tests" / "jit_program", 1500, "listed", tmp_path)
    program.wait()
    r = c.stop()
    pathlib.Path(f"/tmp/perf-{program.pid}.map").unlink()
    assert r.one("SELECT count(*) FROM stacks WHERE unwind = 'root' AND ustack[1].module = '[jit]'") > 10
    by_collector, by_workers = reads_of(f"/proc/{program.pid}/mem")
    assert {end - at for at, end in by_collector} == {DESCRIPTOR_SZ}
    assert by_workers != []


# How strace changes system calls of workers, and the message that the collector prints. The first eight
# bytes of the tables that a worker writes are changed. A worker seals them by `fcntl`: the filter ends workers that skip a call.
# It sends them by `sendmsg`, too late.
HOSTILE = {
    "forged": ("write:poke_enter=@arg2=ffffffffffffffff", "the answer of a worker that read this file was refused"),
    "unsealed": ("fcntl:retval=0", "the workers that read this file have ended"),
    "silent": ("sendmsg:delay_enter=30000000", "reading this file takes too long"),
}


@needs_strace
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_workers_cost_names_and_no_row(start, spawn, compile_c, kind):
    """Workers under a debugger answer nonsense, or nothing: the collector prints that and continues."""
    change, message = HOSTILE[kind]
    c = start("-p", "profile:u:199", "--no-cache", "traced")
    starter = starter_of(c)
    pids = [starter, *children(starter)]
    call = change.partition(":")[0]
    spawn("strace", "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={change}", "-e", "signal=none", "-o", "/dev/null", "-p", ",".join(map(str, pids)), stderr=subprocess.DEVNULL)
    wait_for(lambda: all(status_of(pid)["TracerPid"] != ["0"] for pid in pids))
    wait_worked(0.5, spawn(compile_c(BUSY, name="traced")))
    while message not in c.seen:
        c.seen += c.next_line() or pytest.fail(c.seen)
    r = c.stop()
    assert r.returncode == 0, r.stderr
    assert lost(r) == 0
    assert r.one("SELECT count(*) FROM events WHERE kind = 'profile' AND ustack_id IS NOT NULL") > 50
    assert r.one("SELECT count(*) FROM stacks WHERE list_contains(list_transform(ustack, lambda f: f.name), 'work')") == 0


def test_without_the_sandbox_there_are_no_workers(start):
    c = start("-p", "profile:u:99", "--no-sandbox", "nothing")
    assert starters(c.path) == []
    r = c.stop()
    assert r.returncode == 0
    assert "with all rights of this process (--no-sandbox)" in r.stderr


def refuse_filters():
    """Makes prctl(PR_SET_SECCOMP) fail in this process and its children, as on a kernel without filters."""
    number, arch = {"x86_64": (157, 0xC000003E), "aarch64": (167, 0xC00000B7)}[os.uname().machine]
    code = [
        (0x20, 0, 0, 4),  # the architecture
        (0x15, 0, 5, arch),
        (0x20, 0, 0, 0),  # the number
        (0x15, 0, 3, number),
        (0x20, 0, 0, 16),  # the first argument
        (0x15, 0, 1, 22),  # PR_SET_SECCOMP
        (0x06, 0, 0, 0x00050000 | 22),  # fail with EINVAL
        (0x06, 0, 0, 0x7FFF0000),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    fprog = struct.pack("HxxxxxxP", len(code), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, fprog, 0, 0) == 0


@pytest.mark.parametrize("option", [[], ["--no-sandbox"]])
def test_a_kernel_without_filters_needs_no_sandbox(record, option):
    """Without --no-sandbox the collector prints what to do, and ends."""
    r = record("-p", "profile:u:99", "--duration", "100ms", *option, "nothing", preexec_fn=refuse_filters, status=0 if option else 1)
    if not option:
        assert re.search("cannot filter system calls for a worker: Invalid argument; run with --no-sandbox", r.stderr)
