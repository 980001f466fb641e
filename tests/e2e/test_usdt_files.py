# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of usdt:PATH: files that are refused, and notes of other compilers and languages."""
import os
import signal
import subprocess

import pytest

from conftest import COLLECTOR, ROOT, needs_bpf

pytestmark = needs_bpf

HEADER = f"-I{ROOT}/include"
ONE_SPAN = """
#include <stacks_tracing.h>
int main(void) { STACKS_ENTER(1, 0, 2, 3, "one"); STACKS_EXIT(1); STACKS_CLOSE(1); return 0; }
"""

# Notes of <sys/sdt.h> macros and of Rust's probe crate: without a semaphore, with arguments in any place.
NOTE = r"""
#define NOTE(probe, args) "990: nop\n.pushsection .note.stapsdt, \"?\", \"note\"\n.balign 4\n.4byte 992f - 991f, 994f - 993f, 3\n" \
	"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n.asciz \"stacks_tracing\", \"" probe "\", \"" args "\"\n" \
	"994: .balign 4\n.popsection\n"
"""
OTHER_WAYS = NOTE + r"""
struct span { long long id, parent; char name[16]; } spans[2] = { { 11, 0, "outer" }, { 12, 11, "a\0bc" } };
long long amounts[] = { 5, -1 };
int global = 4711;
int main(void)
{
	for (long i = 0; i < 2; i++) {
		*(volatile char *)spans[i].name; /* memory that is there */
		__asm__ volatile(NOTE("enter", "-8@(%[span]) 8@8(%[span]) -4@$-2 8@(%[amounts],%[i],8) 8@%[name]")
				 : : [span] "r"(&spans[i]), [amounts] "r"(amounts), [i] "r"(i), [name] "r"(spans[i].name));
	}
	__asm__ volatile(NOTE("exit", "-4@%k[id]") : : [id] "r"(0x100000000 + 12));
	__asm__ volatile(NOTE("exit", "8@global(%rip)"));
	__asm__ volatile(NOTE("close", "8@global+8(%rip)"));
	__asm__ volatile(NOTE("exit_stack", "1@%b[id]") : : [id] "r"(0x5500L + 11));
	__asm__ volatile(NOTE("close", "8@$11"));
	return 0;
}
"""


def refused(path, option="usdt:u:{}"):
    p = subprocess.run([COLLECTOR, "-d", "/nonexistent/x", "-p", option.format(path), "--duration", "100ms"],
                       capture_output=True, text=True, timeout=60)
    assert p.returncode == 1 and p.stdout == ""
    return p.stderr


def build(compile_c, *flags, source=ONE_SPAN, **kw):
    return compile_c(source, HEADER, *flags, **kw)


def test_files_without_spans_are_refused(tmp_path, compile_c):
    (tmp_path / "text").write_text("#!/bin/sh\n")
    os.mkfifo(tmp_path / "fifo")
    small = build(compile_c, "-m32", "-ffreestanding", "-nostdlib", "-static", "-Wl,-emain")
    other = build(compile_c, source=NOTE.replace("stacks_tracing", "other") + 'int main(void) { __asm__(NOTE("one", "")); return 0; }')
    no_enter = build(compile_c, source=NOTE + 'int main(void) { __asm__(NOTE("exit", "8@%rdi")); return 0; }')
    too_few = build(compile_c, source=NOTE + 'int main(void) { __asm__(NOTE("enter", "8@%rdi")); return 0; }')
    for path, said in (
        (tmp_path / "missing", "No such file"), (tmp_path, "not a program or library"), (tmp_path / "text", "not a program or library"),
        (tmp_path / "fifo", "not a program or library"), (small, "32-bit"), ("/bin/true", "no USDT probes"),
        (other, "it has other:one"), (no_enter, "no readable probe stacks_tracing:enter"), (too_few, "too few arguments"),
    ):
        assert f"{path}: " in refused(path) and said in refused(path)
    program = build(compile_c)
    assert "named twice" in refused(program, "usdt:u:{0},usdt:n:{0}")
    os.link(program, tmp_path / "link")
    assert "named twice" in refused(program, "usdt:u:{0},usdt:n:" + str(tmp_path / "link"))


def test_wrong_notes_are_refused(tmp_path, compile_c):
    good = build(compile_c).read_bytes()
    note = good.index(b"stapsdt\0")
    for offset, value, said in (
        (8, (1 << 40).to_bytes(8, "little"), "not in the code"), (24, (0x4001).to_bytes(8, "little"), ".probes"),
        (-8, b"\xff" * 4, "malformed"),
    ):
        forged = tmp_path / "forged"
        forged.write_bytes(good[: note + offset] + value + good[note + offset + len(value):])
        assert said in refused(forged)


def rows(r):
    return r.rows("SELECT kind, span_id, parent_id, id, amount, trace_name, ustack_id IS NOT NULL FROM events "
                  "WHERE kind LIKE 'trace_%' ORDER BY timestamp")


@pytest.mark.parametrize("flags", [["-static"], ["-no-pie", "-fno-pie"], ["-O0"], ["-s"]])
def test_programs_of_all_kinds_are_recorded(record, compile_c, flags):
    program = build(compile_c, *flags)
    assert rows(record("-p", f"usdt:n:{program}", "--", program)) == [
        ("trace_exit", 1, 0, 2, 3, "one", False), ("trace_close", 1, 0, 2, 3, "one", False)
    ]


def test_notes_of_other_compilers_and_languages_are_read(record, compile_c):
    program = build(compile_c, "-no-pie", "-fno-pie", source=OTHER_WAYS)
    r = record("-p", f"usdt:n:{program}", "--", program)
    minus = (1 << 64) - 2
    assert rows(r) == [
        ("trace_exit", 12, 11, minus, (1 << 63) - 1, "a", False), ("trace_exit", 11, 0, minus, 5, "outer", True),
        ("trace_close", 11, 0, minus, 5, "outer", False),
    ]
    assert r.stderr.count("left out") == 1
    assert "2 places are left out of its probes: the argument '8@global(%rip)' of stacks_tracing:exit is in no register" in r.stderr


SEMAPHORE = """
#include <stdio.h>
#include <unistd.h>
#include <stacks_tracing.h>
int main(void) { char c; while (read(0, &c, 1) == 1) { printf("%d\\n", STACKS_LISTENING(enter)); fflush(stdout); } STACKS_ENTER(1, 0, 0, 0, ""); return 0; }
"""


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGKILL])
def test_semaphores_are_cleared_at_the_end(start, spawn, compile_c, sig):
    program = build(compile_c, source=SEMAPHORE)
    p = spawn(program, stdin=subprocess.PIPE)

    def asked():
        p.stdin.write("?")
        p.stdin.flush()
        return p.stdout.readline().strip()

    assert asked() == "0"
    c = start("-p", f"usdt:n:{program}")
    assert asked() == "1"
    c.stop(sig)
    assert asked() == "0"
