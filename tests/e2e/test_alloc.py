# SPDX-License-Identifier: GPL-2.0-or-later
"""alloc: what programs allocate, by samples that stand for the right number of bytes."""
import os
import re
import subprocess

import pytest

from conftest import COLLECTOR, needs_bpf, wait_worked

pytestmark = needs_bpf

INTERVAL = 2048
MB = 1000000

# Each function allocates 10 MB. At 2 KB, that is about 5,000 samples: a deviation of 1.4 %.
ALLOCATE = r"""
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <new>
#define F extern "C" __attribute__((noipa)) void
static void *kept[50000];
template <class T> static void keep(int i, T *p) { kept[i] = p; }
F with_malloc() { for (int i = 0; i < 25000; i++) keep(i, malloc(400)); }
F in_child() { usleep(400000); for (int i = 0; i < 25000; i++) free(kept[i]); for (int i = 0; i < 5000; i++) keep(i, malloc(2000)); _exit(0); }
F with_calloc() { for (int i = 0; i < 10000; i++) keep(0, calloc(10, 100)); }
F with_new() { for (int i = 0; i < 10000; i++) keep(0, new char[1000]); }
F with_realloc() { for (int i = 0; i < 5000; i++) keep(0, realloc(realloc(NULL, 300), 2000)); }
F with_align() { for (int i = 0; i < 5000; i++) { void *p; if (!posix_memalign(&p, 64, 1000)) keep(0, p); keep(0, aligned_alloc(16, 1000)); } }
F freed() {
  for (int i = 0; i < 10000; i++) { keep(0, malloc(1000)); free(kept[0]); keep(0, new char[1000]); delete[] (char *)kept[0]; } }
F large() { for (int i = 0; i < 10; i++) keep(0, malloc(1000000)); }
F after_exec() { for (int i = 0; i < 10000; i++) keep(0, malloc(1000)); }
int main(int argc, char **argv) {
  if (argc > 1) { after_exec(); return 0; }
  with_malloc();
  if (!fork()) in_child();
  wait(NULL);
  with_calloc(); with_new(); with_realloc(); with_align(); freed(); large();
  execl(argv[0], argv[0], "again", NULL);
}
"""
KEPT = ("with_malloc", "in_child", "with_calloc", "with_new", "with_realloc", "with_align", "large", "after_exec")

# Programs with an allocator of their own, which no other process has mapped.
OWN = r"""
#include <stdlib.h>
#define F __attribute__((noipa))
static char heap[1 << 20];
F void *je_malloc(size_t sz) { static size_t at; at = (at + 16) % (sizeof(heap) - 8192); return heap + at + sz % 2; }
F void je_free(void *p) { *(volatile char *)p = 1; }
F void churn(void) { for (int i = 0; i < 1000; i++) je_free(je_malloc(50)); }
int main(void) { for (;;) churn(); }
"""

# Allocates all the time: many samples are at the probe, in the kernel's copy of the first instruction of malloc().
AT_PROBES = r"""
#include <stdlib.h>
#define F __attribute__((noipa))
F void *allocates(size_t sz) { void *p = malloc(sz); __asm__ volatile("" : "+r"(p)); return p; }
F void turns(void) { for (int i = 0; i < 1000; i++) free(allocates(100)); }
int main(void) { for (int i = 0; i < 300; i++) turns(); return 0; }
"""

LIVE = """
SELECT ustack, amount FROM stacks a WHERE kind = 'alloc' AND NOT EXISTS (FROM events f WHERE f.kind = 'free' AND f.id = a.id)
"""


def bytes_of(r, function, rows):
    return float(r.one(f"SELECT coalesce(sum(amount), 0) FROM ({rows}) WHERE list_contains(list_transform(ustack, lambda f: f.name), ?)", function))


def library_path(name):
    found = re.search(rf"^\t{re.escape(name)} .*x86-64.* => (.*)$", subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout, re.M)
    return found[1] if found else pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("library", ["libc.so.6", "libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_live_bytes_are_those_of_the_program(record, compile_c, library):
    """From the first allocation on: these libraries are attached to before the program starts."""
    r = record("-p", f"alloc:u:{INTERVAL}", "--max-rate", "0", "--ring-size", "64M", "--", "env", f"LD_PRELOAD={library_path(library)}",
               compile_c(ALLOCATE, compiler="g++", suffix=".cpp", name="allocator"))
    assert r.one("SELECT count(*) FROM events WHERE kind = 'lost'") == 0
    live = {f: bytes_of(r, f, LIVE) for f in (*KEPT, "freed")}
    assert live.pop("freed") == 0
    assert live == {f: pytest.approx(10 * MB, rel=0.07) for f in KEPT}
    allocated = {f: bytes_of(r, f, "FROM stacks WHERE kind = 'alloc'") for f in ("with_realloc", "freed")}
    assert allocated == {"with_realloc": pytest.approx(11.5 * MB, rel=0.07), "freed": pytest.approx(20 * MB, rel=0.07)}
    # The weight counts allocations.
    assert r.one("SELECT sum(weight) FROM stacks WHERE kind = 'alloc' AND ustack[2].name = 'with_malloc'") == pytest.approx(25000, rel=0.07)
    # An allocation begins with the function that was called, and reaches the root.
    assert r.one("SELECT count(*) FROM stacks WHERE kind = 'alloc' AND NOT regexp_matches(ustack[1].name, '(alloc|memalign|new.*)$')") == 0
    assert r.rows("SELECT DISTINCT unwind FROM events WHERE kind = 'alloc'") == [("root",)]


STATIC = r"""
#include <stdlib.h>
#define F __attribute__((noipa))
static char heap[1 << 20];
F void *je_malloc(size_t sz) { return heap + sz % 2; }
F void first(void) { for (int i = 0; i < 1000; i++) je_malloc(50); }
int main(void) { first(); }
"""


def test_the_first_allocation_of_a_program_with_its_own_functions_is_seen(record, compile_c):
    r = record("-p", "alloc:u:0", "--", compile_c(STATIC, name="own"))
    assert r.one("SELECT count(*) FROM stacks WHERE kind = 'alloc' AND ustack[2].name = 'first'") == 1000


def test_a_free_refers_to_its_allocation(record, compile_c):
    r = record("-p", "alloc:u:0", "--", compile_c(ALLOCATE, compiler="g++", suffix=".cpp", name="allocator"), "again")
    assert r.one("SELECT count(*) FROM stacks WHERE kind = 'alloc' AND list_contains(list_transform(ustack, lambda f: f.name), 'after_exec') "
                 "AND amount = 1000 AND weight = 1") == 10000 - r.lost("alloc", "filter")
    assert r.one("SELECT count(*) FROM events WHERE kind = 'alloc'") == r.one("SELECT count(DISTINCT id) FROM events WHERE kind = 'alloc'")
    # the program frees what the C library allocated at its start
    odd = r.rows("SELECT f.*, a.* FROM events f LEFT JOIN events a ON a.kind = 'alloc' AND a.id = f.id WHERE f.kind = 'free' AND "
                 "(a.id IS NULL OR a.tgid != f.tgid OR a.amount != f.amount OR f.duration <= 0 OR abs(f.timestamp - f.duration - a.timestamp) > 1000000)")
    assert odd == []


def test_a_running_process_and_a_later_one_are_recorded(start, spawn, compile_c):
    """The later one has another file, and is recorded for its name."""
    first = spawn(compile_c(OWN, name="first"))
    wait_worked(0.01, first)
    c = start("-v", "-p", "alloc:u:4K", "first", "second")
    second = spawn(compile_c(OWN, name="second"))
    while "2 functions of" not in (line := c.next_line()) or "/second" not in line:
        assert line, "the collector ended"
    wait_worked(0.2, first, second)
    r = c.stop()
    assert r.rows("SELECT DISTINCT command, kind, ustack[1].name, ustack[2].name FROM stacks WHERE kind != 'lost' ORDER BY ALL") == [
        (command, kind, f"je_{function}", "churn")
        for command in ("first", "second") for kind, function in (("alloc", "malloc"), ("free", "free"))]


FORKS = r"""
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#define F __attribute__((noipa))
static void *volatile kept;
F void churn(int n) { for (int i = 0; i < n; i++) { kept = malloc(100); free(kept); } }
F void in_child(void) { for (int i = 0; i < 100; i++) churn(100); }
int main(int argc, char **argv)
{
	for (;;) {
		churn(1000);
		usleep(1000);
		if (argc > 1 && !fork()) {
			usleep(400000); /* as long as it may take to find it */
			in_child();
			_exit(0);
		}
		while (argc > 1 && waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(argc > 1 ? 100000 : 1000);
	}
}
"""


def runs(r):
    return sum(int(n) for n in re.findall(r"^alloc__(?:session__call|any__free) +(\d+)", r.stderr, re.M))


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 13), reason="such a kernel records one thread only")
def test_only_the_chosen_process_pays(start, spawn, compile_c):
    """Another process calls the same functions of the same files all the time."""
    other, chosen = spawn(compile_c(FORKS, name="forks")), spawn("sleep", "60")
    wait_worked(0.01, other)
    r = start("-v", "-p", "alloc", "--pid", str(chosen.pid), "--duration", "500ms", wait=False).finish()
    assert r.returncode == 0 and runs(r) == 0, r.stderr
    r = start("-v", "-p", "alloc", "--duration", "500ms", "--", "sleep", "60", wait=False).finish()
    assert r.returncode == 0 and runs(r) < 1000, r.stderr
    r = start("-v", "-p", "alloc", "--pid", str(other.pid), "--duration", "500ms", wait=False).finish()
    assert runs(r) > 2000, r.stderr


def test_children_of_a_chosen_process_are_recorded_once(record, spawn, compile_c):
    """They are found later, and their files are attached for all processes: the parent still counts once."""
    parent = spawn(compile_c(FORKS, name="forks"), "x")
    wait_worked(0.005, parent)
    r = record("-p", "alloc:u:1", "--pid", str(parent.pid), "--duration", "3s", "--max-rate", "0", "--ring-size", "64M")
    of_children = r.one(f"SELECT count(*) FROM stacks WHERE kind = 'alloc' AND tgid != {parent.pid} AND list_contains(list_transform(ustack, lambda f: f.name), 'in_child')")
    assert of_children > 0
    rounds = r.rows(f"SELECT count(*) FROM events WHERE kind = 'alloc' AND tgid = {parent.pid} GROUP BY timestamp // 50000000")
    assert r.one(f"SELECT count(*) FROM events WHERE kind = 'free' AND reason IS NOT NULL AND tgid = {parent.pid}") == 0
    assert all(n <= 1100 for n, in rounds), rounds


def test_a_file_that_a_user_mounted_is_left_alone(record, compile_c, spawn, tmp_path):
    """The kernel would wait for its file system while no process can fork."""
    program = compile_c(OWN, name="first")
    process = spawn("unshare", "-m", "sh", "-c", f"mount -t tmpfs none /mnt && cp {program} /mnt && exec /mnt/first")
    wait_worked(0.01, process)
    r = record("-p", "alloc:u:4K", "--pid", str(process.pid), "--duration", "500ms")
    assert "alloc: does not attach to /mnt/first and other files of this file system" in r.stderr
    assert not list(r.path.glob("events-*"))


@pytest.mark.parametrize("args, why", [
    (["-p", "alloc"], "name a command, --pid or --cgroup"),
    (["-p", "alloc", "--uid", "0"], "name a command, --pid or --cgroup"),
    (["-p", "alloc:257M", "sh"], "BYTES is 0 (all) to 256M"),
    (["-p", "alloc:512X", "sh"], "'512X' is not stacks (u, k, uk, ku, n) or a size such as 64K"),
])
def test_wrong_calls_are_refused(args, why):
    p = subprocess.run([COLLECTOR, "-d", "/nonexistent/x", *args, "--duration", "100ms"], capture_output=True, text=True, timeout=60)
    assert p.returncode == 2 and why in p.stderr


def test_samples_at_a_probe_are_walked(record, compile_c):
    r = record("-p", "alloc:n:1M,profile:u:4999", "--", compile_c(AT_PROBES, "-O2", name="probed"))
    stacks = [(names, status, n) for names, modules, status, n in r.stacks("kind = 'profile' AND command = 'probed'") if modules[0] == "[uprobes]"]
    whole = [(names, n) for names, status, n in stacks if status == "root"]
    assert {"main"} == {names[-4] for names, _ in whole}, stacks
    # Where a return probe is hit, only the kernel knows the caller.
    assert sum(n for _, n in whole) >= max(10, 0.8 * sum(n for *_, n in stacks)), stacks
