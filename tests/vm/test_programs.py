# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of programs of several languages, built for AArch64: each ends at the root and has the right names."""
import os
import subprocess

import pytest

from vm import ARCH, DEPS, Machine

pytestmark = pytest.mark.skipif(ARCH == "x86_64", reason="other tests record such programs on this architecture")

CXX = """
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct shape { virtual ~shape() {} virtual double area(int n) = 0; };
struct square : shape { __attribute__((noinline)) double area(int n) override { double sum = 0; for (int i = 0; i < n; i++) sum += i * sum + 1; return sum; } };
namespace shop {
template <typename T> __attribute__((noinline)) T sorted(std::vector<T> v) { std::sort(v.begin(), v.end(), [](const T &a, const T &b) { return b < a; }); return v[0]; }
__attribute__((noinline)) int caught(int n) { try { if (n) throw std::runtime_error("sold out"); return 0; } catch (const std::exception &e) { return (int)std::string(e.what()).size(); } }
}
int main() {
	square s; shape *volatile p = &s; double sum = 0;
	for (int n = 1; n < 100000000; n++) {
		std::map<std::string, int> m;
		for (int i = 0; i < 50; i++) m["k" + std::to_string(i * n % 97)] = i;
		sum += p->area(3000) + shop::sorted(std::vector<std::string>{"b", "a", std::to_string(n)}).size() + shop::caught(n % 4 == 0) + m.size();
	}
	return sum > 0;
}
"""
GO = """package main
import ("fmt"; "sort"; "time")
//go:noinline
func spin(n int) (sum int) { for i := 0; i < n; i++ { sum += sum*i + 1 }; return }
//go:noinline
func deep(n int) int { if n == 0 { m := map[string]int{}; for i := 0; i < 50; i++ { m[fmt.Sprint(i)] = spin(500) }
	k := []string{}; for s := range m { k = append(k, s) }; sort.Strings(k); return len(k) }; return deep(n-1) + 1 }
func main() { c := make(chan int); for i := 0; i < 3; i++ { go func() { for { c <- deep(20) } }() }
	go func() { for { time.Sleep(10 * time.Millisecond) } }(); for { <-c } }
"""
# A function of another file that does less than the stub which leads to it.
STUB_LIBRARY = "int step(int n) { return n + 1; }"
STUBS = "int step(int); int main(void) { int n = 0; for (;;) n = step(n); return n; }"
PYTHON = """
import re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while True:
    fib(12), sorted(range(200), key=lambda x: -x), re.sub("a+b", "c", "aaab" * 100)
"""
RUNS = {
    "c": "/examples/cpu 100", "lock": "/examples/lock 100 4", "cxx": "/programs/cxx", "go": "/programs/go", "stubs": "/programs/stubs",
    "python": "/usr/bin/python3.11 -S /programs/work.py",
}
# What one of these names of each kind has; the last ends every stack.
NAMES = {
    "c": ["render_line", "work", "main"], "lock": ["update_account", "transfer"], "go": ["main.spin", "main.deep"], "stubs": ["step", "step@plt", "main"],
    "cxx": ["square::area(int)", "shop::caught(int)", "main"], "python": ["fib", "<lambda>", "Py_BytesMain"],
}


def compile_cross(compiler, source, target, *flags):
    language = "c++" if compiler.endswith("g++") else "c"
    subprocess.run([f"{ARCH}-linux-gnu-{compiler}", "-O2", "-fomit-frame-pointer", "-mbranch-protection=standard", "-x", language, "-", "-o", target, *flags],
                   input=source, check=True, text=True)


def build(folder):
    """{place in the machine: file}"""
    compile_cross("g++", CXX, folder / "cxx")
    compile_cross("gcc", STUB_LIBRARY, folder / "libstep.so", "-fpic", "-shared", "-Wl,-soname,libstep.so")
    compile_cross("gcc", STUBS, folder / "stubs", "-x", "none", folder / "libstep.so", "-Wl,-rpath,/programs")
    (folder / "go.go").write_text(GO)
    (folder / "work.py").write_text(PYTHON)
    env = {"HOME": str(folder), **os.environ, "GOARCH": "arm64", "GO111MODULE": "off", "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", folder / "go", folder / "go.go"], check=True, env=env)
    return {f"programs/{name}": folder / name for name in ("cxx", "stubs", "libstep.so", "go", "work.py")}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    python = {str(p.relative_to(DEPS / "python")): p for p in (DEPS / "python").rglob("*") if p.is_file()}
    cases = "".join(f"record {name} -p profile:uk:99,switch:uk --duration 15s -- {command}\n" for name, command in RUNS.items())
    return Machine(folder / "machine", "bookworm", "echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent\n" + cases, build(folder) | python)


@pytest.mark.parametrize("name", RUNS)
def test_stacks_end_at_the_root_and_have_names(machine, name):
    r = machine.recording(name)
    assert r.returncode == 0, r.stderr
    stacks = r.stacks("kind IN ('profile', 'switch')")
    total = sum(n for *_, n in stacks)
    assert total > 50, r.stderr
    assert sum(n for _, _, status, n in stacks if status == "root") >= 0.995 * total, [s for s in stacks if s[2] != "root"]
    for function in NAMES[name]:
        assert any(function in names for names, *_ in stacks), (function, stacks[:20])
