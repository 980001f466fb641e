# SPDX-License-Identifier: GPL-2.0-or-later
"""Many processes, many mappings, and many of both per second: nothing is lost, and memory stays bounded."""
import os
import pathlib
import re
import subprocess
import time

import pytest

from conftest import ROOT, needs_bpf, wait_for, wait_worked, worked
from crowds import JIT, MANY, OPENS, OPENED, anonymous_mb

pytestmark = needs_bpf

def lost(r):
    return r.one("SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost'")


def test_many_processes_with_many_mappings_share_memory(start, spawn, compile_c):
    """500 processes with 28,000 mappings: common parts are stored once."""
    many = spawn(compile_c(MANY, name="many"), 500, 20)
    assert many.stdout.readline() == "ready\n"
    c = start("-p", "switch:u", "many")
    took = worked(c.pid)
    time.sleep(1)
    memory = anonymous_mb(c.pid)
    r = c.stop()
    assert took < 3  # seconds of CPU time; 0.5
    assert memory < 48
    assert lost(r) == 0
    assert r.one("SELECT count(DISTINCT tgid) FROM events WHERE command = 'many'") >= 500
    ended = dict(r.rows("SELECT unwind, count(*) FROM events WHERE command = 'many' AND ustack_id IS NOT NULL GROUP BY ALL"))
    # The kernel may have reclaimed a stack page of a sleeping process.
    assert ended.keys() <= {"root", "truncated"} and ended["root"] > 9 * ended.get("truncated", 0), ended


def test_many_starting_programs_leave_no_state(start, spawn):
    """Each process is gone when its files are looked up. None of its state remains."""
    for _ in range(2):
        spawn("sh", "-c", "while :; do /bin/true; done")
    c = start("-p", "profile:u:499,exec:u", "sh")
    time.sleep(1.5)
    early = anonymous_mb(c.pid)
    time.sleep(2.5)
    late = anonymous_mb(c.pid)
    r = c.stop()
    assert lost(r) == 0, r.stderr
    assert r.one("SELECT count(*) FROM events WHERE kind = 'exec'") > 100
    assert late < early + 16 and late < 64


def test_short_lived_code_leaves_no_state(start, spawn, compile_c):
    comes = spawn(compile_c(JIT, name="comes"))
    c = start("-p", "profile:u:499", "comes")
    wait_worked(0.1, comes)
    r = c.stop()
    pathlib.Path(f"/tmp/perf-{comes.pid}.map").unlink()
    assert lost(r) == 0
    assert r.one("SELECT count(*) FROM events WHERE command = 'comes'") > 5
    assert r.one("SELECT count(*) FROM events WHERE command = 'comes' AND unwind = 'no_map'") == 0
    made = [names for names, modules, *_ in r.stacks("command = 'comes'") if modules[0] in ("[jit]", "[anon]")]
    assert made
    for names in made:
        assert names[1] == "main" and names[-1] == "_start", names
    assert sum(names[0] == "coming" for names in made) / len(made) > 0.8, made


def test_a_library_loaded_ten_thousand_times_is_walked(record, compile_c):
    lib = compile_c(OPENED, "-shared", "-fPIC", name="often.so")
    prog = compile_c(OPENS, "-ldl", name="opens")
    r = record("-p", "profile:u:499", "--", prog, lib)
    assert lost(r) == 0
    ends = dict(r.rows("SELECT unwind, count(*) FROM events WHERE command = 'opens' AND ustack_id IS NOT NULL GROUP BY 1"))
    assert ends["root"] / sum(ends.values()) > 0.98, ends


def test_the_same_path_in_two_containers_is_two_files(start, spawn, compile_c, tmp_path):
    """The path leads to a different file in each container. Each process has the names of its own file."""
    body = "volatile unsigned long sink;\n__attribute__((noinline)) void %s(void) { for (int i = 0; i < 1000000; i++) sink++; }\nint main(void) { for (;;) %s(); }\n"
    place = tmp_path / "place"
    place.touch()
    programs = {}
    for name in ("first", "second"):
        program = compile_c(body % (name, name), name=f"the_{name}")
        p = spawn("unshare", "-m", "sh", "-c", f"mount --bind {program} {place} && exec {place}")
        programs[name] = p
    wait_worked(0.3, *programs.values())
    c = start("-p", "profile:u:199", "place")
    wait_worked(0.3, *programs.values())
    r = c.stop()
    for name, p in programs.items():
        leaves = {s[0][0] for s in r.stacks(f"tgid = {p.pid}")}
        assert leaves and leaves <= {name, "main"}, leaves


THREADS = 12000
READER = """
import sys
while True:
    with open(sys.argv[1], "rb", 0) as f:
        while f.read(1 << 20): pass
"""
CROWD = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *sleeps(void *arg) { for (;;) usleep(200000); return arg; }
int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t thread;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	getchar();
	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		if (pthread_create(&thread, &small, sleeps, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
}
"""
# Each thread of this crowd has been through a span when it is ready.
SPANS = CROWD.replace("#include <unistd.h>", '#include <unistd.h>\n#include "stacks_tracing.h"\nstatic int done;').replace(
    "for (;;) usleep(200000);", '{ STACKS_SPAN("work", .id = 1); } __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST); for (;;) usleep(200000);').replace(
    'puts("ready");', 'while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < atoi(argv[argc - 1])) usleep(1000);\n\tputs("ready");')


def used(cgroup):
    """Bytes."""
    now = cgroup / "memory.current"
    return int((now if now.exists() else cgroup / "memory.usage_in_bytes").read_text())


@pytest.fixture
def small_cgroup():
    """A memory cgroup of 300 MB below our own, v1 or v2: its folder. Request it before the fixtures that start processes, so that
    these end first."""
    own = dict(re.findall(r"^\d+:(\w*):(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.M))
    for root, name, limit in ("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "", "memory.max"):
        folder = pathlib.Path(root + own.get(name, "/nowhere")) / f"small{os.getpid()}"
        try:
            folder.mkdir()
            with open(folder / limit, "r+") as f:  # only what the kernel has put there
                f.write("300M")
        except OSError:
            if folder.exists():
                folder.rmdir()
            continue
        yield folder
        for _ in range(100):  # until its processes are gone
            try:
                return folder.rmdir()
            except OSError:
                time.sleep(0.1)
        return
    pytest.skip("no memory cgroup can be made")


def test_threads_have_rows_when_kernel_memory_is_short(small_cgroup, start, spawn, compile_c, tmp_path):
    """The collector's cgroup is at its limit, as it is kept by readers of files. New threads still have rows."""
    def enter():
        (small_cgroup / "cgroup.procs").write_text(str(os.getpid()))

    with open(tmp_path / "file", "w") as f:
        f.truncate(4 << 30)
    for _ in range(4):
        spawn("python3", "-c", READER, tmp_path / "file", preexec_fn=enter)
    crowd = spawn(compile_c(CROWD, name="crowd"), THREADS, stdin=subprocess.PIPE)
    wait_for(lambda: used(small_cgroup) > 290 << 20)
    c = start("-p", "switch:n", "--ring-size", "64M", "--no-cache", "crowd", preexec_fn=enter)
    crowd.stdin.write("\n")
    crowd.stdin.flush()
    assert crowd.stdout.readline() == "ready\n"
    time.sleep(1)
    r = c.stop()
    assert lost(r) == 0, r.stderr
    assert r.one("SELECT count(DISTINCT pid) FROM events WHERE command = 'crowd'") == THREADS + 1


def test_spans_of_threads_that_the_kernel_has_no_memory_for(small_cgroup, start, spawn, compile_c, tmp_path):
    """A thread that gets no room for its spans has no row when it leaves one. The recording says how many, and why."""
    def enter():
        (small_cgroup / "cgroup.procs").write_text(str(os.getpid()))

    with open(tmp_path / "file", "w") as f:
        f.truncate(4 << 30)
    for _ in range(4):
        spawn("python3", "-c", READER, tmp_path / "file", preexec_fn=enter)
    program = compile_c(SPANS, f"-I{ROOT / 'include'}", name="spans")
    crowd = spawn(program, THREADS, stdin=subprocess.PIPE)
    wait_for(lambda: used(small_cgroup) > 290 << 20)
    c = start("-p", f"usdt:n:{program}", "--ring-size", "64M", "--no-cache", preexec_fn=enter)
    crowd.stdin.write("\n")
    crowd.stdin.flush()
    assert crowd.stdout.readline() == "ready\n"
    r = c.stop()
    rows = dict(r.rows("SELECT kind, count(*) FROM events WHERE kind LIKE 'trace_%' GROUP BY ALL"))
    assert lost(r) > 0, "the kernel had memory for all"
    assert r.rows("SELECT DISTINCT lost_kind, reason FROM events WHERE kind = 'lost'") == [("usdt", "no_memory")]
    assert rows == {"trace_exit": THREADS - lost(r), "trace_close": THREADS}
    assert "usdt: the kernel had no memory" in r.stderr
