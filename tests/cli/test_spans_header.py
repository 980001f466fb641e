# SPDX-License-Identifier: GPL-2.0-or-later
"""include/stacks_tracing.h with other compilers, linkers and languages, and the examples that use it."""
import re
import shutil
import subprocess
import sys

import pytest

from conftest import EXAMPLES, ROOT

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror".split()
ARGUMENTS = {"enter": "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8", "exit": "8@%rdi", "exit_stack": "8@%rdi", "close": "8@%rdi"}

C = """
#include <stacks_tracing.h>
int work(int n);
void wire(void) { STACKS_ENTER(1, 2, 3, 4, "wire"); STACKS_EXIT(1); STACKS_EXIT_STACK(1); STACKS_CLOSE(1); }
uint64_t in_c(int n)
{
	STACKS_SPAN("outer");
	struct stacks_span s = STACKS_SPAN_OPEN("fetch", .id = 7, .amount = 8);
	{
		STACKS_SPAN("inner", .id = 1, .exit_stack = 1);
		work(n);
	}
	stacks_span__enter(&s);
	stacks_span__exit(&s);
	stacks_span__close(&s);
	return stacks_tracing_thread.span_id;
}
void listen(void) { stacks_tracing_enter_semaphore = stacks_tracing_exit_semaphore = stacks_tracing_close_semaphore = 1; }
"""

CC = """
#include <stacks_tracing.h>
#include <cstdio>
#include <utility>
extern "C" { int work(int n); void wire(void); uint64_t in_c(int n); void listen(void); }
inline int inlined(int n) { STACKS_SPAN("inlined", 5); return n; }
template <class T> T generic(T n) { stacks_tracing::span s("generic"); return n; }
static uint64_t parent;
int work(int n) { parent = stacks_tracing_thread.span_id; return inlined(n) + generic(n); }
int main()
{
	listen();
	wire();
	uint64_t outer = in_c(1);
	stacks_tracing::async_span a("async", 1, 2);
	{
		stacks_tracing::async_span::entered now(a);
		stacks_span how = stacks_tracing::describe("child", 1, 2);
		how.exit_stack = 1;
		stacks_tracing::span child(how);
		if (child.get()->parent_id != a.get()->span_id)
			return 1;
	}
	stacks_tracing::async_span b(std::move(a));
	if (a.get()->span_id || !b.get()->span_id)
		return 2;
	/* in_c() and this file have one idea of the thread's span, and of which ids are taken */
	return outer && parent && outer != parent && !stacks_tracing_thread.span_id ? 0 : 3;
}
"""

# Uses the inline function and the template above. The linker keeps one copy of each.
CC_TWIN = """
#include <stacks_tracing.h>
inline int inlined(int n) { STACKS_SPAN("inlined", 5); return n; }
template <class T> T generic(T n) { stacks_tracing::span s("generic"); return n; }
int twin();
int twin() { return inlined(1) + generic(2); }
"""


def compile_one(compiler, source, out, *flags):
    name = out.with_suffix(".cc" if compiler.endswith("++") else ".c")
    name.write_text(source)
    subprocess.run([compiler, *flags, f"-I{ROOT}/include", "-o", out, name], check=True)
    return out


def notes(path):
    """[(name, location, semaphore, arguments)] of the provider's probes."""
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(
        r"Provider: stacks_tracing\n\s+Name: (\w+)\n\s+Location: (\w+), Base: \w+, Semaphore: (\w+)\n\s+Arguments: (.*)", text
    )
    return [(name, int(at, 16), int(semaphore, 16), arguments.strip()) for name, at, semaphore, arguments in found]


@pytest.mark.parametrize("flags", ["-O0", "-O2 -fPIC -fstack-protector-strong"])
@pytest.mark.parametrize("std", ["c99", "c17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_without_warnings(tmp_path, compiler, std, flags):
    compile_one(compiler, C, tmp_path / "c.o", "-c", f"-std={std}", *WARNINGS, *flags.split())


@pytest.mark.parametrize("flags", ["-O0", "-O2 -fPIC -fno-exceptions -fno-rtti"])
@pytest.mark.parametrize("std", ["c++11", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cxx_without_warnings(tmp_path, compiler, std, flags):
    compile_one(compiler, CC, tmp_path / "cc.o", "-c", f"-std={std}", *WARNINGS, "-Wold-style-cast", *flags.split())


def test_other_machines_compile_the_header(tmp_path):
    arm = compile_one("clang", C, tmp_path / "arm.o", "-c", "-O2", "--target=aarch64-linux-gnu", "-ffreestanding", *WARNINGS)
    assert {(n, a) for n, _, _, a in notes(arm)} == {
        ("enter", "8@x0 8@x1 8@x2 8@x3 8@x4"), ("exit", "8@x0"), ("exit_stack", "8@x0"), ("close", "8@x0")
    }
    # Other machines have no probes, but the program compiles.
    source = C.replace("void listen", "#if 0\nvoid listen") + "#endif\n"
    assert notes(compile_one("gcc", source, tmp_path / "m32.o", "-c", "-O2", "-m32", "-ffreestanding", *WARNINGS)) == []


@pytest.mark.parametrize(
    "flags",
    ["-O2 -fPIE -pie", "-O0", "-O2 -fno-pie -no-pie", "-O2 -static", "-O2 -flto=1 -flto-partition=max",
     "-O2 -ffunction-sections -fdata-sections -Wl,--gc-sections"],
)
def test_several_files_are_one_program(tmp_path, flags):
    objects = [
        compile_one(compiler, source, tmp_path / name, "-c", *flags.split())
        for compiler, source, name in (("gcc", C, "c.o"), ("g++", CC, "cc.o"), ("g++", CC_TWIN, "twin.o"))
    ]
    program = tmp_path / "program"
    subprocess.run(["g++", *flags.split(), "-o", program, *objects], check=True, stderr=subprocess.DEVNULL)
    subprocess.run([program], check=True)
    found = notes(program)
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    for name, arguments in ARGUMENTS.items():
        mine = [n for n in found if n[0] == name]
        address = re.findall(rf"^(\w+) \w stacks_tracing_{name}_semaphore", symbols, re.M)
        assert mine and len(address) == 1
        assert {n[2] for n in mine} == {int(address[0], 16)}
        assert {n[3] for n in mine} == {arguments}
        assert len({n[1] for n in mine}) == len(mine) and all(n[1] for n in mine)


def test_libraries_do_not_share_ids(tmp_path):
    """A program and two libraries that hide their symbols from each other."""
    source = """
#include <stacks_tracing.h>
uint64_t take_%s(void) { stacks_tracing_enter_semaphore = 1; return STACKS_SPAN_OPEN("span").span_id; }
"""
    libs = [compile_one("gcc", source % n, tmp_path / f"lib{n}.so", "-shared", "-fPIC", "-O2") for n in ("a", "b")]
    main = """
#include <dlfcn.h>
#include <stdio.h>
"""
    main += source % "main" + """
int main(int argc, char **argv)
{
	uint64_t ids[3] = { take_main() };

	for (int i = 1; i < argc; i++)
		ids[i] = ((uint64_t (*)(void))dlsym(dlopen(argv[i], RTLD_NOW | RTLD_LOCAL), i == 1 ? "take_a" : "take_b"))();
	printf("%lu %lu %lu\\n", ids[0], ids[1], ids[2]);
	return 0;
}
"""
    program = compile_one("gcc", main, tmp_path / "main", "-O2")
    out = subprocess.run([program, *libs], capture_output=True, text=True, check=True).stdout
    ids = sorted(map(int, out.split()))
    assert all(later - earlier >= 1 << 30 for earlier, later in zip(ids, ids[1:])), ids


def test_probes_survive_strip(tmp_path):
    stripped = tmp_path / "stripped"
    shutil.copy(EXAMPLES / "spans_server", stripped)
    subprocess.run(["strip", stripped], check=True)
    assert notes(stripped) == notes(EXAMPLES / "spans_server") != []


def test_functions_are_not_cut_in_two(tmp_path):
    """Stacks show their names."""
    for example in ("spans_server", "spans_async", "deadlock", "libspans.so"):
        symbols = subprocess.run(["nm", EXAMPLES / example], capture_output=True, text=True, check=True).stdout
        assert "stacks_tracing_enter_semaphore" in symbols and ".cold" not in symbols


def run(*argv):
    out = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True, timeout=60).stdout
    return [line.split() for line in out.splitlines()]


def test_examples_count_their_spans():
    assert [line[:3] for line in run(EXAMPLES / "spans_server", 10, 3)] == [
        ["request", "10", "55000"], ["query", "10", "0"], ["reply", "10", "55000"]
    ]
    assert run(EXAMPLES / "spans_async", 5, 3)[0][:4] == ["5", "tasks", "15", "steps"]
    assert [line[:3] for line in run(sys.executable, ROOT / "examples/spans.py", 6, 2, EXAMPLES / "libspans.so")] == [
        ["job", "6", "2100"], ["rest", "6", "0"]
    ]


HOLDS_THE_LOCK = """
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
static void check(void)
{
	int (*holds)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
	if (!holds || !holds())
		abort();
}
int spans_listening(void) { check(); return 1; }
void spans_enter(uint64_t span, uint64_t parent, uint64_t id, uint64_t amount, const char *name)
{
	(void)span, (void)parent, (void)id, (void)amount, (void)name;
	check();
}
void spans_exit(uint64_t span) { (void)span; check(); }
void spans_close(uint64_t span) { (void)span; check(); }
"""


def test_a_probe_of_python_keeps_the_interpreter_lock(compile_c):
    """Giving it up at each probe makes waits that the program does not have."""
    library = compile_c("#define _GNU_SOURCE\n" + HOLDS_THE_LOCK, "-shared", "-fPIC", "-ldl", name="lock.so")
    assert run(sys.executable, ROOT / "examples/spans.py", 6, 2, library)[0][:3] == ["job", "6", "2100"]


def test_it_is_installed(tmp_path):
    wanted = subprocess.run(
        ["make", "-n", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert f"{tmp_path}/usr/include include/stacks_tracing.h" in wanted
