# SPDX-License-Identifier: GPL-2.0-or-later
"""Go: lines of functions, and inlined functions, in programs with and without symbols."""
import collections
import glob
import os
import shutil
import subprocess

import pytest

from conftest import EXPORT, ROOT, needs_bpf
from scriptcalls import write

pytestmark = needs_bpf

# The compiler of this system, and Debian's.
COMPILERS = [p for p in [shutil.which("go"), *glob.glob("/usr/lib/go-*/bin/go")] if p]
if not COMPILERS:
    pytestmark = pytest.mark.skip(reason="no Go compiler (Debian: golang)")

PROGRAM = """package main

import (
	"os"
	"syscall"
)

type acc struct{ sum, n int }

func (a *acc) add(v int) {
	a.sum = (a.sum + v*v) % 1000003
	a.n++
}

func step(a *acc, i int) {
	a.add(i)
	if a.n%7 == 0 {
		a.add(a.sum / 3)
	}
}

//go:noinline
func spin(n int) int {
	var a acc
	for i := 0; i < n; i++ {
		step(&a, i)
	}
	return a.sum
}

//go:noinline
func recurse(n int) int {
	if n == 0 {
		return spin(20000)
	}
	return recurse(n-1) + 1
}

func main() {
	var used syscall.Rusage // ends after 1.2 s of CPU time
	for ; used.Utime.Nano() < 1200000000; syscall.Getrusage(0, &used) {
		if recurse(20) < 0 {
			os.Exit(1)
		}
	}
}
"""

# The lines at which a function can be, by its callee. In a leaf: any of its body.
CALLS = {
    ("main.recurse", "main.spin"): {34},
    ("main.recurse", "main.recurse"): {36},
    ("main.main", "main.recurse"): {42},
    ("main.spin", "main.step"): {26},
    ("main.step", "main.(*acc).add"): {16, 18},
}
BODIES = {"main.spin": {23, 24, 25, 26, 28}, "main.step": {15, 16, 17, 18}, "main.(*acc).add": {10, 11, 12}}


@pytest.mark.parametrize("flags", ["-s -w", ""], ids=["stripped", "with symbols"])
@pytest.mark.parametrize("go", COMPILERS)
def test_go_functions_have_lines_and_inlined_callees(record, tmp_path, go, flags):
    source = write(tmp_path, PROGRAM, "prog.go")
    env = {"HOME": str(tmp_path), **os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    subprocess.run([go, "build", f"-ldflags={flags}", "-o", tmp_path / "prog", source], env=env, check=True)
    r = record("-p", "profile:u:499", "--", tmp_path / "prog")
    rows = r.rows("SELECT ustack FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL AND command = 'prog'")
    program = [[f for f in stack if (f["name"] or "").startswith("main.")] for stack, in rows]
    program = [stack for stack in program if stack and stack[-1]["name"] == "main.main"]
    assert len(program) > 300
    marks = collections.Counter()
    for stack in program:
        assert {f["file"] for f in stack} == {str(source)}
        assert stack[0]["line"] in BODIES.get(stack[0]["name"], {stack[0]["line"]}), stack[0]
        for callee, caller in zip(stack, stack[1:]):
            assert caller["line"] in CALLS[caller["name"], callee["name"]], (callee, caller)
            assert (caller["mark"] == "go_inlined") == (caller["name"] == "main.step")
        marks.update(f["name"] for f in stack if f["mark"] == "go_inlined")
    assert marks.keys() == {"main.step", "main.(*acc).add"}
    assert min(marks.values()) > 100


def test_exports_have_the_lines_of_the_recording(record, tmp_path):
    source = write(tmp_path, PROGRAM, "prog.go")
    env = {"HOME": str(tmp_path), **os.environ, "GO111MODULE": "off", "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    subprocess.run([COMPILERS[0], "build", "-o", tmp_path / "prog", source], env=env, check=True)
    r = record("-p", "profile:u:199", "--", tmp_path / "prog")
    (tmp_path / "prog").unlink()  # nothing but the recording is left
    pprof = tmp_path / "out.pb.gz"
    subprocess.run([EXPORT, "pprof", "-r", r.path, ROOT / "sql/pprof/cpu_stacks.sql", "--output", pprof], check=True, capture_output=True)
    text = subprocess.run(["go", "tool", "pprof", "-raw", pprof], env=env, check=True, capture_output=True, text=True).stdout
    assert f"main.spin {source}:26" in text
