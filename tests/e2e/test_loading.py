# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks are complete and have names, however the code was loaded into the process."""
import shutil
import subprocess
import sys

import pytest

from conftest import needs_bpf, wait_worked

pytestmark = needs_bpf

SOURCE = """
#include <stdlib.h>
#include <time.h>
#define NI __attribute__((noinline, noclone))
volatile long sink;
NI long leaf(long n) { long s = 0; for (long i = 0; i < n; i++) s += sink ^ i; return s; }
NI long middle(long n) { char room[200 + n % 7]; room[n % 7] = (char)n; sink += leaf(20000) + room[n % 7]; return sink; }
long run(long ms) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	for (long end = t.tv_sec * 1000 + t.tv_nsec / 1000000 + ms; t.tv_sec * 1000 + t.tv_nsec / 1000000 < end; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
		sink += middle(ms);
	return sink;
}
"""
MAIN = "int main(int argc, char **argv) { (void)argc; run(atol(argv[1])); return 0; }\n"
MS = "300"


def check(r, command, chain, module=None, ends=("root",)):
    """Every sample reaches the root. Samples in leaf(), nearly all, have the expected callers."""
    rows = r.rows("SELECT list_transform(ustack, lambda f: f.name), list_transform(ustack, lambda f: f.module), unwind, count(*) "
                  "FROM stacks WHERE command = ? AND ustack_id IS NOT NULL GROUP BY ALL", command)
    assert {status for *_, status, _ in rows} <= set(ends), rows
    busy = [(names, modules, n) for names, modules, _, n in rows if names[0] == "leaf"]
    assert sum(n for *_, n in busy) > 10, rows
    for names, modules, _ in busy:
        assert names[: len(chain)] == chain, names
        if module:
            assert set(modules[:3]) == {module}
    return busy


def test_programs_are_walked_however_they_are_linked(record, compile_c):
    """One file at a fixed place or any place, for larger pages, and with file offsets that differ from the addresses."""
    ways = {
        "dynamic": [],
        "static": ["-static"],
        "static_pie": ["-static-pie"],
        "no_pie": ["-no-pie"],
        "pages_16k": ["-Wl,-z,max-page-size=16384"],
        "pages_64k": ["-Wl,-z,max-page-size=65536", "-Wl,-z,noseparate-code"],
        "shifted": ["-no-pie", "-Wl,-z,max-page-size=16384", "-Wl,--section-start=.text=0x654000"],
        "gold": ["-fuse-ld=gold", "-Wl,-z,max-page-size=16384"],
        "prelinked": ["-no-pie", "-Wl,-Ttext-segment=0x3000000", "-Wl,-z,relro,-z,now"],
        "stripped": ["-s"],
    }
    programs = [compile_c(SOURCE + MAIN, *flags, name=name) for name, flags in ways.items()]
    shifted = subprocess.run(["readelf", "-lW", programs[6]], capture_output=True, text=True, check=True).stdout
    loads = [line.split() for line in shifted.splitlines() if line.split()[:1] == ["LOAD"]]
    assert any("E" in load[6:-1] and int(load[1], 16) != int(load[2], 16) - 0x400000 for load in loads), shifted
    r = record("-p", "profile:u:997", "--", "sh", "-c", "; ".join(f"{p} {MS}" for p in programs) + "; :")
    for name, program in zip(ways, programs):
        if name == "stripped":
            continue
        for names, *_ in check(r, name, ["leaf", "middle", "run", "main"], str(program)):
            assert names[-1] == "_start"
    rows = r.rows("SELECT len(ustack), unwind, count(*) FROM stacks WHERE command = 'stripped' AND ustack_id IS NOT NULL GROUP BY ALL")
    # leaf … _start, without names
    assert {status for _, status, _ in rows} == {"root"} and max(rows, key=lambda row: row[2])[0] >= 6


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc (Debian: musl-tools)")
def test_musl_ends_the_walk_behind_main(record, compile_c):
    """Debian's musl has no call-frame information: a walk through it ends there, behind main()."""
    programs = [compile_c(SOURCE + MAIN, *flags, name=name, compiler="musl-gcc")
                for name, flags in (("musl", []), ("musl_static", ["-static"]))]
    r = record("-p", "profile:u:997", "--", "sh", "-c", "; ".join(f"{p} {MS}" for p in programs) + "; :")
    for name in "musl", "musl_static":
        for names, modules, _ in check(r, name, ["leaf", "middle", "run", "main"], ends=("root", "no_cfi")):
            assert len(names) in (5, 6), names


def test_a_program_that_is_deleted_while_it_runs_is_walked(start, compile_c, spawn):
    program = compile_c(SOURCE + MAIN, name="deleted")
    c = start("-p", "profile:u:997", "deleted")
    p = spawn(program, MS)
    wait_worked(0.05, p)
    program.unlink()
    assert p.wait() == 0
    check(c.stop(), "deleted", ["leaf", "middle", "run", "main"], str(program))


def test_a_program_that_was_deleted_before_is_walked(start, compile_c, spawn):
    """The collector sees it only when it is already running. The file exists only in the process."""
    program = compile_c(SOURCE + MAIN, name="gone")
    p = spawn(program, "60000")
    wait_worked(0.1, p)
    program.unlink()
    c = start("-p", "profile:u:997", "--pid", p.pid)
    wait_worked(0.3, p)
    r = c.stop()
    check(r, "gone", ["leaf", "middle", "run", "main"], str(program))


def test_a_program_in_memory_only_is_walked(record, compile_c):
    """memfd_create() and fexecve(): container runtimes start themselves like this."""
    program = compile_c(SOURCE + MAIN, name="inmemory")
    script = ("import os, sys\nfd = os.memfd_create('hidden')\nos.write(fd, open(sys.argv[1], 'rb').read())\n"
              "os.execve(fd, ['inmemory', sys.argv[2]], {})\n")
    r = record("-p", "profile:u:997", "--", sys.executable, "-c", script, program, MS)
    comm = r.one("SELECT command FROM stacks WHERE ustack[1].name = 'leaf' LIMIT 1")
    check(r, comm, ["leaf", "middle", "run", "main"], "/memfd:hidden")


def test_a_library_in_memory_only_is_walked(record, compile_c):
    """dlopen() of /proc/self/fd/N: some programs unpack their libraries like this."""
    library = compile_c(SOURCE, "-shared", "-fPIC", name="lib.so")
    script = ("import ctypes, os, sys\nfd = os.memfd_create('unpacked')\nos.write(fd, open(sys.argv[1], 'rb').read())\n"
              "ctypes.CDLL(f'/proc/self/fd/{fd}').run(ctypes.c_long(int(sys.argv[2])))\n")
    r = record("-p", "profile:u:997", "--", sys.executable, "-c", script, library, MS)
    comm = r.one("SELECT command FROM stacks WHERE ustack[1].name = 'leaf' LIMIT 1")
    check(r, comm, ["leaf", "middle", "run"], "/memfd:unpacked")


@pytest.mark.parametrize("frame_pointers", [True, False], ids=["with frame pointers", "without"])
def test_code_without_a_file_is_walked_by_frame_pointers(record, compile_c, frame_pointers):
    """Code copied to other memory, as loaders do for large pages or to unpack themselves: code with frame pointers is
    walked."""
    flag = "-fno-omit-frame-pointer" if frame_pointers else "-fomit-frame-pointer"
    program = compile_c("""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define NI __attribute__((noinline, noclone))
extern char __executable_start[], __etext[];
NI long leaf(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
NI long middle(long n) { volatile char room[200]; room[n % 7] = 1; return leaf(20000) + room[n % 7]; }
int main(int argc, char **argv) {
	size_t sz = (size_t)(__etext - __executable_start);
	char *copy = mmap(0, sz, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*volatile f)(long) = (long (*)(long))(copy + ((char *)middle - __executable_start));
	memcpy(copy, __executable_start, sz);
	for (clock_t end = clock() + atol(argv[argc - 1]) * 1000; clock() < end;)
		f(7);
	return 0;
}
""", flag, name="copied")
    r = record("-p", "profile:u:997", "--", program, MS)
    rows = r.rows("SELECT list_transform(ustack, lambda f: f.module), list_transform(ustack, lambda f: f.name), unwind, count(*) FROM stacks "
                  "WHERE command = 'copied' AND ustack[1].module = '[anon]' GROUP BY ALL")
    total = sum(n for *_, n in rows)
    assert total > 10
    whole = sum(n for modules, names, status, n in rows if status == "root" and names[-1] == "_start" and "main" in names)
    if frame_pointers:
        assert whole == total, rows
    else:  # the walk ended as unknown, or has the right callers
        assert all(status in ("root", "no_cfi") for *_, status, _ in rows), rows
