# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of chosen functions from entry to return: their time, results, stacks, and those that do not return."""
import json
import shutil
import subprocess

import pytest

from conftest import needs_bpf

pytestmark = needs_bpf

CALLS = 20
PROGRAM = f"""
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
static jmp_buf env;
#define KEEP(x) __asm__ volatile("" : "+r"(x))
__attribute__((noinline)) int negated(int n) {{ usleep(2000); KEEP(n); return -n; }}
__attribute__((noinline)) int tail(int n) {{ KEEP(n); return negated(n); }}
__attribute__((noinline)) void jumps(int n) {{ KEEP(n); if (n & 1) longjmp(env, 1); }}
__attribute__((noinline)) int factorial(int n)
{{
	int r;

	if (n <= 1) {{
		usleep(20000);
		return 1;
	}}
	r = n * factorial(n - 1);
	KEEP(r);
	return r;
}}
__attribute__((noinline)) void wide(int n)
{{
	char untouched[100000];
	char *p = untouched;
	KEEP(p);
	factorial(n);
	KEEP(p);
}}
__attribute__((noinline)) void ends(void) {{ exit(0); }}
int main(void)
{{
	for (volatile int i = 0; i < {CALLS}; i++) {{
		tail(i);
		if (!setjmp(env))
			jumps(i);
	}}
	wide(6);
	ends();
}}
"""


@pytest.fixture
def program(compile_c):
    return compile_c(PROGRAM, "-O2", name="returns")


def calls(r, function):
    rows = r.rows(f"SELECT args, duration, reason, amount FROM events WHERE kind = 'call' AND probe LIKE '%:{function}' ORDER BY timestamp")
    return [(json.loads(args) if args else None, ns, reason, amount) for args, ns, reason, amount in rows]


def test_calls_have_their_time_and_result(record, program):
    """Also of a function that is called by a jump: it and its caller return at one place."""
    r = record("-p", f"call:{program}:negated=d+d,call:{program}:tail=d+l", "--", program)
    rows = calls(r, "negated")
    assert [(a["arg1"], a["result"]) for a, *_ in rows] == [(n, -n) for n in range(CALLS)]
    assert all(2_000_000 <= ns < 200_000_000 and reason is None and amount == 0 for _, ns, reason, amount in rows)
    outer = calls(r, "tail")
    assert len(outer) == CALLS and all(o[1] >= i[1] for o, i in zip(outer, rows))
    assert outer[1][0]["result"] == (1 << 32) - 1  # the upper half of an int in a register is zero


def test_recursive_calls_are_paired_and_their_stacks_are_whole(record, program):
    """The kernel has replaced the return addresses of the outer calls, and pages of the stack were never touched."""
    r = record("-p", f"call:{program}:factorial=d+d,call:{program}:wide,switch:u", "--", program)
    rows = calls(r, "factorial")
    assert [(a["arg1"], a["result"]) for a, *_ in rows] == [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120), (6, 720)]
    assert rows == sorted(rows, key=lambda row: row[1])
    stacks = [s[0] for s in r.stacks("kind = 'call'") if s[0][0] == "factorial"]
    assert sorted(s.index("main") for s in stacks) == [2, 3, 4, 5, 6, 7] and {s[2] for s in r.stacks("kind = 'call'")} == {"root"}
    ((sleep, _, status, _),) = [s for s in r.stacks("kind = 'switch' AND state = 'sleeping'") if "factorial" in s[0]]
    assert sleep.count("factorial") == 6 and "main" in sleep and status == "root"


def test_calls_that_do_not_return_say_so(record, program):
    r = record("-p", f"call:{program}:jumps=d,call:{program}:ends", "--", program)
    assert [(a["arg1"], reason) for a, _, reason, _ in calls(r, "jumps")] == [(n, "no_return" if n & 1 else None) for n in range(CALLS)]
    assert [reason for _, _, reason, _ in calls(r, "ends")] == ["no_return"]


def test_a_call_is_pending_when_the_recording_ends(record, program):
    r = record("-p", f"call:{program}:main", "--duration", "10ms", "--", program)
    assert [(reason, args) for args, _, reason, _ in calls(r, "main")] == [("pending", None)]


def test_calls_are_chosen_by_argument_result_and_time(record, program):
    r = record("-p", f"call:{program}:negated=d+d?arg1>=5&result>-8,call:{program}:factorial=d?duration>=20ms,call:{program}:tail?duration>1s", "--", program)
    assert [a["arg1"] for a, *_ in calls(r, "negated")] == [5, 6, 7]
    assert len(calls(r, "factorial")) == 6 and calls(r, "tail") == []


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_returns_of_go_programs_are_refused(start, tmp_path):
    (tmp_path / "main.go").write_text("package main\nfunc main() {}\n")
    subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=tmp_path, check=True)
    r = start("-p", f"call:{tmp_path}/program:main.main", "--duration", "1s", wait=False).finish()
    assert r.returncode == 1 and "would make a Go program crash; record its entry with uprobe" in r.stderr
