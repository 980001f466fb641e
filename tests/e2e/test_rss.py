# SPDX-License-Identifier: GPL-2.0-or-later
"""rss: the memory of each process, and the stacks that increased it."""
import os
import pathlib
import re

import pytest

from conftest import EXAMPLES, needs_bpf

pytestmark = needs_bpf

KB, MB, PAGE = 1024, 1024 * 1024, 4096
N = 29  # -p rss: one row per this many changes

# Growth, which belongs to the stack of the row: the difference to the previous row of the process.
GROWTH = """
WITH grown AS (
  SELECT *, amount - lag(amount) OVER (PARTITION BY tgid ORDER BY timestamp) AS growth,
    list_transform(ustack, lambda f: f.name) AS names
  FROM stacks WHERE kind = 'rss'
)
"""

PRELUDE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
#define PAGE 4096
static NOINLINE void touch(volatile char *p, size_t sz) { for (size_t i = 0; i < sz; i += PAGE) p[i]++; }
static NOINLINE char *map(size_t sz, int flags) {
  return mmap(0, sz, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0); }
/* Process id and KB in RAM, as the page tables have it; the second time nothing new is touched for that. */
static NOINLINE void say(void) {
  static char s[4096]; long kb = 0;
  for (int i = 0; i < 2; i++) {
    int fd = open("/proc/self/smaps_rollup", O_RDONLY); s[read(fd, s, sizeof(s) - 1)] = 0; close(fd);
    sscanf(strstr(s, "Rss:"), "Rss: %ld", &kb);
    int n = sprintf(s, "%d %ld\n", getpid(), kb); write(i ? 1 : 2, s, n); } }
"""


def growth(r, function, where="true"):
    return r.one(GROWTH + "SELECT coalesce(sum(greatest(growth, 0)), 0) FROM grown "
                 f"WHERE list_contains(names, ?) AND {where}", function)


def ends_with(r, tgid, sz):
    """Checks the last row of the process. Its exit code may fault in pages of a file, 16 at a time."""
    last = r.one("SELECT arg_max(amount, timestamp) FROM events WHERE kind = 'rss' AND tgid = ?", tgid)
    return sz <= last <= sz + 16 * PAGE


@pytest.mark.parametrize("every", [N, 0])
def test_growth_belongs_to_the_code_that_touches(record, every):
    r = record("-p", f"rss:u:{every}", "--", EXAMPLES / "memory", 16)
    words = r.stdout.split()
    kb = dict(zip(words[0::2], map(int, words[1::2])))
    # A row covers N changes. At the start and end of a function, some belong to its neighbours.
    slack = (3 + r.lost("rss", "filter")) * max(every, 1) * PAGE
    for function in ("cache_row", "share_table", "parse_batch"):
        assert abs(growth(r, function) - kb[function] * KB) <= slack, function
    # The total is the memory of the program plus what it freed.
    grown, shrunk = r.rows(GROWTH + "SELECT sum(greatest(growth, 0)), sum(least(growth, 0)) FROM grown "
                           "WHERE command = 'memory'")[0]
    first, last = r.rows("SELECT arg_min(amount, timestamp), arg_max(amount, timestamp) FROM events "
                         "WHERE command = 'memory'")[0]
    assert grown + shrunk <= last - first + slack
    assert -shrunk >= kb["parse_batch"] * KB - slack
    assert abs(last - kb["resident"] * KB) < 256 * KB
    for names, _, unwind, _ in r.stacks("command = 'memory' AND amount > 2000000"):
        assert unwind == "root" and names[-1] == "_start", names


def test_the_last_value_of_a_short_process_is_recorded(record, compile_c):
    prog = compile_c(
        PRELUDE +
        "int main(void) { for (int i = 1; i <= 5; i++) { pid_t p = fork(); if (!p) {\n"
        "    char *m = map(100 * PAGE, MAP_PRIVATE); touch(m, (i * 5 + 1) * PAGE); say();\n"
        "    touch(m + 50 * PAGE, i * PAGE); _exit(0); }\n"
        "  waitpid(p, 0, 0); } return 0; }\n", name="brief")
    r = record("-p", f"rss:u:{N}", "--", prog)
    lines = [tuple(map(int, line.split())) for line in r.stdout.splitlines()]
    assert len(lines) == 5
    for i, (pid, kb) in enumerate(lines, 1):
        assert ends_with(r, pid, kb * KB + i * PAGE)
    # The rows stand for all changes: at least one page each.
    for i, (pid, _) in enumerate(lines, 1):
        assert r.one("SELECT sum(weight) FROM events WHERE tgid = ?", pid) >= 6 * i + 1


def test_rows_cover_the_whole_recording(start, spawn, compile_c):
    prog = compile_c(
        PRELUDE +
        "int main(void) { char c, *m = map(1000 * PAGE, MAP_PRIVATE); touch(m, 500 * PAGE); say(); read(0, &c, 1);\n"
        "  touch(m + 500 * PAGE, 3 * PAGE); say(); read(0, &c, 1); return 0; }\n",
        name="waiting")
    still, moving = (spawn(prog, stdin=-1) for _ in range(2))
    before = {p.pid: int(p.stdout.readline().split()[1]) for p in (still, moving)}
    c = start("-p", f"rss:u:{N}")
    moving.stdin.write("x")
    moving.stdin.flush()
    after = int(moving.stdout.readline().split()[1])
    r = c.stop()
    begin, = r.rows("SELECT min(timestamp) FROM events WHERE kind = 'rss'")[0]
    # A process without changes has one row: its memory at the beginning.
    assert r.rows("SELECT timestamp, amount, weight, ustack_id FROM events WHERE tgid = ?", still.pid) == [
        (begin, before[still.pid] * KB, 1, None)]
    assert r.rows("SELECT timestamp, amount FROM events WHERE tgid = ? ORDER BY timestamp LIMIT 1", moving.pid) == [
        (begin, before[moving.pid] * KB)]
    assert ends_with(r, moving.pid, after * KB)
    assert r.one("SELECT count(*) FROM events WHERE tgid = ?", moving.pid) == 2


def test_files_shared_and_huge_pages_count(record, compile_c, tmp_path):
    enabled = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    huge = enabled.exists() and "[never]" not in enabled.read_text()
    data = tmp_path / "data"
    data.write_bytes(os.urandom(8 * MB))
    prog = compile_c(
        PRELUDE +
        "static NOINLINE void read_file(int fd) { volatile char *p = mmap(0, 8 << 20, PROT_READ, MAP_PRIVATE, fd, 0);\n"
        "  for (size_t i = 0; i < 8 << 20; i += PAGE) (void)p[i]; }\n"
        "static NOINLINE void shared(void) { touch(map(8 << 20, MAP_SHARED), 8 << 20); }\n"
        "static NOINLINE void huge(size_t sz) { size_t p = (size_t)map(sz + (2 << 20), MAP_PRIVATE);\n"
        "  p = (p + (2 << 20) - 1) & ~((2ul << 20) - 1); madvise((void *)p, sz, MADV_HUGEPAGE);\n"
        "  touch((char *)p, sz); }\n"
        "static NOINLINE void huge_too(size_t sz) { huge(sz); __asm__ volatile(\"\" ::: \"memory\"); }\n"
        "int main(int c, char **v) { (void)c; read_file(open(v[1], O_RDONLY)); shared();\n"
        "  huge_too(6 << 20); huge(10 << 20); return 0; }\n", name="kinds")
    r = record("-p", f"rss:u:{N}", "--", prog, data)
    assert abs(growth(r, "read_file") - 8 * MB) <= 3 * N * PAGE
    assert abs(growth(r, "shared") - 8 * MB) <= 3 * N * PAGE
    if huge:
        # A huge page is a large change. It has its own row, however few there are.
        assert abs(growth(r, "huge_too") - 6 * MB) <= 3 * N * PAGE
        assert abs(growth(r, "huge", "NOT list_contains(names, 'huge_too')") - 10 * MB) <= 3 * N * PAGE


def test_the_memory_of_threads_is_the_processs(record, compile_c):
    prog = compile_c(
        PRELUDE +
        "static NOINLINE void *work(void *a) { touch(map(8 << 20, MAP_PRIVATE), 8 << 20); return a; }\n"
        "int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n"
        "  for (int i = 0; i < 4; i++) pthread_join(t[i], 0); say(); _exit(0); }\n",
        "-pthread", name="threads")
    r = record("-p", f"rss:u:{N}", "--", prog)
    assert r.one("SELECT count(DISTINCT (tgid, pid)) FROM events WHERE command = 'threads'") == 1
    assert r.one("SELECT count(*) FROM events WHERE pid != tgid") == 0
    # Threads that work at the same time are told apart except for the changes within a row of another thread.
    assert abs(growth(r, "work") - 32 * MB) < MB
    tgid, kb = map(int, r.stdout.split())
    assert ends_with(r, tgid, kb * KB)


def test_touching_foreign_memory_counts_for_its_owner(record, compile_c):
    prog = compile_c(
        PRELUDE +
        "static char page[4 << 20];\n"
        "static NOINLINE void write_there(pid_t p, char *m, size_t sz) { struct iovec l = {page, sz}, r = {m, sz};\n"
        "  if (process_vm_writev(p, &l, 1, &r, 1, 0) != (ssize_t)sz) exit(1); }\n"
        "int main(void) { char c, *m = map(4 << 20, MAP_PRIVATE); int go[2]; pipe(go); touch(page, sizeof(page));\n"
        "  pid_t p = fork(); if (!p) { read(go[0], &c, 1); _exit(0); }\n"
        "  write_there(p, m, 4 << 20); printf(\"%d %d\\n\", getpid(), p); fflush(stdout);\n"
        "  write(go[1], \"\", 1); waitpid(p, 0, 0); return 0; }\n",
        name="foreign")
    r = record("-p", f"rss:uk:{N}", "--", prog)
    writer, owner = map(int, r.stdout.split())
    assert growth(r, "write_there", f"tgid = {writer}") < 3 * N * PAGE
    rows = r.rows(GROWTH + "SELECT pid, growth, ustack_id, list_transform(kstack, lambda f: f.name) FROM grown "
                  "WHERE tgid = ? AND growth > 0", owner)
    written = [row for row in rows if any("process_vm" in (name or "") for name in row[3] or [])]
    assert abs(sum(row[1] for row in written) - 4 * MB) <= 3 * N * PAGE
    assert {(row[0], row[2]) for row in written} == {(owner, None)}


def test_a_vforked_child_uses_its_parents_memory(record, compile_c):
    prog = compile_c(
        PRELUDE +
        "static NOINLINE void in_child(char *m) { touch(m, 4 << 20); _exit(0); }\n"
        "int main(void) { char *m = map(4 << 20, MAP_PRIVATE); pid_t p = vfork(); if (!p) in_child(m);\n"
        "  waitpid(p, 0, 0); say(); _exit(0); }\n", name="vforked")
    r = record("-p", f"rss:u:{N}", "--", prog)
    parent, kb = map(int, r.stdout.split())
    assert abs(growth(r, "in_child", f"tgid = {parent}") - 4 * MB) <= 3 * N * PAGE
    assert ends_with(r, parent, kb * KB)
    assert {t for t, in r.rows("SELECT DISTINCT tgid FROM events WHERE command = 'vforked'")} == {parent}


def test_filters_look_at_the_owner(start, spawn):
    spawn(EXAMPLES / "memory", 8, 100).stdout.readline()
    c = start("-p", "rss:u:0", "sleeper")
    spawn(EXAMPLES / "memory", 8, 100).stdout.readline()
    spawn(EXAMPLES / "sleeper", 0.1).wait()
    r = c.stop()
    assert {command for command, in r.rows("SELECT DISTINCT command FROM events")} == {"sleeper"}


def test_it_is_on_by_default(record):
    r = record("--", EXAMPLES / "memory", 4)
    assert {kind for kind, in r.rows("SELECT DISTINCT kind FROM events")} >= {"rss", "switch"}
    assert re.search(r"^rss ", r.stderr, re.M)
    assert abs(growth(r, "cache_row") - 4 * MB) <= 3 * N * PAGE
