# SPDX-License-Identifier: GPL-2.0-or-later
"""Places that the user chooses: functions, tracepoints and static probes, with their arguments."""
import json

import pytest

from conftest import EXAMPLES, needs_bpf

pytestmark = needs_bpf

CALLS = 200
PROGRAM = f"""
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) long work(int n, const char *name, unsigned long big, long other)
{{
	__asm__ volatile("" ::"r"(name), "r"(big), "r"(other) : "memory");
	return n;
}}
__attribute__((noinline)) void caller(int n)
{{
	char name[300];
	for (int i = 0; i < (int)sizeof(name) - 1; i++)
		name[i] = "ab"[i & 1];
	name[299] = 0;
	sprintf(name, "\\"%d\\\\\\xff\\n", n);
	name[9] = 0;
	work(-n, name, 1ul << 63, n ? -5 : 0);
	work(n, (const char *)1, 0, 0);
}}
int main(void)
{{
	for (int i = 0; i < {CALLS}; i++)
		caller(i);
	syscall(SYS_openat, -7, "/nowhere", 0, 0);
	return 0;
}}
"""


@pytest.fixture
def program(compile_c):
    return compile_c(PROGRAM, "-O1", "-fno-optimize-sibling-calls", name="calls")


def args(r, where):
    return [(probe, json.loads(text) if text else None) for probe, text in r.rows(f"SELECT probe, args FROM events WHERE {where} ORDER BY timestamp")]


def test_functions_have_arguments_and_stacks(record, program):
    """A name with bytes that are not text, and one at an unmapped address, leave the other arguments whole."""
    r = record("-p", f"uprobe:{program}:work=dspl", "--", program)
    rows = args(r, "kind = 'uprobe'")
    assert [a["arg1"] for _, a in rows] == [v for n in range(CALLS) for v in (-n, n)]
    assert rows[2] == (f"{program}:work", {"arg1": -1, "arg2": '"1\\\ufffd\n', "arg3": 1 << 63, "arg4": -5})
    assert rows[3][1] == {"arg1": 1, "arg2": None, "arg3": 0, "arg4": 0}
    ((functions, _, status, cnt),) = r.stacks("kind = 'uprobe'")
    assert functions[:3] == ["work", "caller", "main"] and status == "root" and cnt == 2 * CALLS


def test_tracepoints_have_fields(record, program):
    r = record("-p", "tracepoint:sched:sched_process_exec,tracepoint:n:syscalls:sys_enter_openat=filename+dfd", "--", program)
    assert args(r, "probe = 'sched:sched_process_exec'")[0][1]["filename"] == str(program)
    assert ("syscalls:sys_enter_openat", {"filename": "/nowhere", "dfd": -7}) in args(r, "kind = 'tracepoint'")
    assert r.one("SELECT count(ustack_id) FROM events WHERE probe LIKE 'syscalls:%'") == 0


def test_static_probes_have_arguments(record):
    """The program reports spans only while its semaphore says that the probes are in use."""
    program = EXAMPLES / "spans_async"
    r = record("-p", f"usdt:{program}:stacks_tracing:enter,sdt:n:{program}:stacks_tracing:close=p", "--", program, 3, 10)
    enters, closes = (args(r, f"probe = '{program}:stacks_tracing:{name}' AND kind = 'sdt'") for name in ("enter", "close"))
    assert set(enters[0][1]) == {"arg1", "arg2", "arg3", "arg4"} and set(closes[0][1]) == {"arg1"}
    assert len(enters) == 2 * 3 * 10 and len(closes) == 3 + 3 * 10  # places with their arguments in different registers
    assert {a["arg1"] for _, a in closes} == {a["arg1"] for _, a in enters}
    assert {s[2] for s in r.stacks("probe LIKE '%:enter'")} == {"root"}


def test_events_are_chosen_by_their_arguments(record, program):
    """Numbers are compared with their sign; a text that cannot be read passes no test."""
    r = record("-p", f"uprobe:{program}:work=ds?arg1<-100&arg1>-150,uprobe:n:{program}:work=-s?arg2=\"7*", "--", program)
    rows = args(r, "kind = 'uprobe'")
    assert [a["arg1"] for _, a in rows if "arg1" in a] == [-n for n in range(101, 150)]
    assert len([a for _, a in rows if "arg1" not in a]) == 11  # 7 and 70 to 79
    r = record("-p", "tracepoint:n:syscalls:sys_enter_openat?filename=/nowhere&dfd<0", "--", program)
    assert [a["dfd"] for _, a in args(r, "kind = 'tracepoint'")] == [-7]


def test_calls_above_the_rate_are_lost_rows(record, program):
    r = record("-p", f"uprobe:n:{program}:work", "--max-rate", "50", "--", program)
    rows, lost = r.rows("SELECT count(*) FILTER (kind = 'uprobe'), sum(amount) FILTER (lost_kind = 'uprobe' AND reason = 'rate_limit') FROM events")[0]
    assert rows + lost == 2 * CALLS and lost > 0 and args(r, "kind = 'uprobe'")[0] == (f"{program}:work", None)


def test_places_that_are_not_there_are_named(start, program):
    for choice, why in {
        f"uprobe:{program}:nowhere": "no symbol of such a function", f"uprobe:{program}:work=z": "expected up to 4 letters",
        f"uprobe:{program}:work=d?arg2>1": "names no recorded argument", f"uprobe:{program}:work=s?arg1>x": "texts are compared by = and !=",
        "tracepoint:sched:nothing": "the kernel has no such tracepoint", "tracepoint:sched:sched_switch=nothing": "'nothing' is not one of",
        f"sdt:{program}:a:b": "no such probe",
    }.items():
        r = start("-p", choice, "--duration", "1s", wait=False).finish()
        assert r.returncode == 1 and f"{choice.split('=')[0].split('?')[0]}" in r.stderr and why in r.stderr
