# SPDX-License-Identifier: GPL-2.0-or-later
"""fault: pages that user code touches for the first time."""
import os

import pytest

from conftest import needs_bpf

pytestmark = needs_bpf

N = 29
PAGE = 4096
CPUS = os.cpu_count()  # each CPU leaves out up to N - 1 faults; the program may run on all of them
PAGES = {"few": 1000, "many": 5000}

TOUCH = r"""
#include <stdio.h>
#include <sys/mman.h>
#define NOINLINE __attribute__((noipa))
static NOINLINE void touch(const char *who, size_t pages) {
  volatile char *p = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%s %lu\n", who, (unsigned long)p);
  for (size_t i = 0; i < pages; i++) p[i * 4096 + 5] = 1; }
static NOINLINE void few(void) { touch("few", 1000); }
static NOINLINE void many(void) { touch("many", 5000); }
int main(void) { few(); many(); return 0; }
"""

GROW = r"""
#define NOINLINE __attribute__((noipa))
static NOINLINE int frames(int n) { volatile char own[3000]; own[0] = 1; return n ? frames(n - 1) + own[0] : 0; }
static NOINLINE int narrow(int n) { volatile char own[100]; own[0] = 1; return n ? narrow(n - 1) + own[0] : 0; }
int main(void) { return frames(30) + narrow(1500) == 0; }
"""


@pytest.mark.parametrize("every", [0, N])
def test_faults_are_as_many_as_touched_pages(record, compile_c, every):
    r = record("-p", f"fault:u:{every}", "--", compile_c(TOUCH, name="toucher"))
    words = r.stdout.split()
    addresses = dict(zip(words[0::2], map(int, words[1::2])))
    for function, pages in PAGES.items():
        first = addresses[function]
        seen, weight, least, most, odd, unwind = r.rows(
            "SELECT count(*), sum(weight), min(address), max(address), count_if(address % 4096 != 5), max(unwind) "
            "FROM stacks WHERE kind = 'fault' AND list_contains(list_transform(ustack, lambda f: f.name), ?) "
            "AND address BETWEEN ? AND ?", function, first, first + pages * PAGE)[0]
        assert odd == 0 and unwind == "root"
        # A full ring may lose events of any function. They are counted.
        step, edge, lost = max(every, 1), CPUS * max(every - 1, 0), r.lost("fault", "filter")
        assert weight == seen * step and pages - edge - lost * step <= weight <= pages + edge
        if every == 0 and not lost:
            assert (least, most) == (first + 5, first + (pages - 1) * PAGE + 5)


def test_a_stack_that_grows_is_whole(record, compile_c):
    """The missing page is the page of the stack pointer."""
    r = record("-p", "fault:u:0", "--", compile_c(GROW, name="grower"))
    for function, least in (("frames", 10), ("narrow", 10)):
        rows = r.rows("SELECT unwind, list_transform(ustack, lambda f: f.name), count(*) FROM stacks "
                      "WHERE command = 'grower' AND ustack[1].name = ? GROUP BY ALL", function)
        assert sum(row[2] for row in rows) >= least, function
        for unwind, names, _ in rows:
            assert unwind == "root" and names[-1] == "_start", (unwind, names)


def test_rows_have_the_documented_columns(record, compile_c):
    r = record("-p", "fault:uk", "--", compile_c(TOUCH, name="toucher"))
    assert r.rows("SELECT DISTINCT kind, amount, duration, weight, address IS NULL, pid = tgid FROM events WHERE kind != 'lost'") == [
        ("fault", 0, 0, N, False, True)]
    assert r.one("SELECT count(*) FROM events WHERE kstack_id IS NULL AND kind != 'lost'") == 0
