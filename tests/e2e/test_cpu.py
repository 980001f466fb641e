# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU profiles of programs with known stacks."""
import hashlib
import os
import shutil
import struct
import subprocess

import pytest

from conftest import EXAMPLES, needs_bpf

pytestmark = needs_bpf


def share(stacks, function):
    total = sum(n for _, _, _, n in stacks)
    return sum(n for names, _, _, n in stacks if function in names) / total


def to_root(stacks):
    return sum(n for _, _, status, n in stacks if status == "root") / sum(n for _, _, _, n in stacks)


def test_cpu_example_has_the_known_stacks(record):
    r = record("-p", "profile:u:499", "--", EXAMPLES / "cpu", 3)
    assert r.stdout.strip() in ("0", "1")
    # The child already has the command's name when it calls execve(). Until then its stack is the collector's own.
    stacks = r.stacks(
        "command = 'cpu' AND list_contains(list_transform(ustack, lambda f: f.name), 'main') AND ends_with(ustack[-1].module, '/cpu')"
    )
    assert sum(n for *_, n in stacks) > 100
    assert to_root(stacks) == 1
    for names, modules, _, _ in stacks:
        assert names[-1] == "_start"
        assert names[-4] == "main" or names[-3] == "main", names
    # main() itself prints at the end.
    assert sum(n for names, *_, n in stacks if names[names.index("main") - 1] == "work") > 0.95 * sum(n for *_, n in stacks)
    assert 0.65 < share(stacks, "render") < 0.85
    assert 0.15 < share(stacks, "compress") < 0.35
    # Through libc, which has no frame pointers, and back.
    through = [(names, modules) for names, modules, _, _ in stacks if "by_value" in names]
    assert through
    for names, modules in through:
        at = names.index("by_value")
        assert modules[at].endswith("/cpu") and "libc.so.6" in modules[at + 1] and "sort_some" in names[at + 2 :]


def test_deep_recursion_keeps_every_frame(record):
    r = record("-p", "profile:u:499", "--", EXAMPLES / "deep", 1.5, 600)
    stacks = [s for s in r.stacks("command = 'deep'") if "spin" in s[0]]
    assert stacks and to_root(stacks) == 1
    assert {names.count("descend") for names, *_ in stacks} == {601}


def digest(data):
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


def test_ids_depend_on_the_content(record):
    """For root's files: an attacker needs 2^64 attempts to find a stack with the same id."""
    recordings = [record("-p", "profile:u:499", "--", "/usr/bin/perl", "-e", "my %h; $h{$_ % 997} .= $_ for 1..4000000") for _ in range(2)]
    seen = []
    for r in recordings:
        stacks = r.rows("SELECT ustack_id, list_transform(any_value(ustack), lambda f: [f.build_id, f.file_offset::VARCHAR]) FROM stacks "
                        "WHERE command = 'perl' AND unwind = 'root' GROUP BY ALL")
        assert len(stacks) > 20
        for stack_id, frames in stacks:
            keys = b""
            for build_id, offset in frames:
                raw = bytes.fromhex(build_id)
                keys += struct.pack("<QQ", digest(bytes([1, len(raw)]) + raw) | 1 << 63, int(offset))
            assert stack_id == digest(keys)
        seen.append({stack_id for stack_id, _ in stacks})
    assert seen[0] & seen[1]


def test_a_stack_deeper_than_the_limit_says_so(record):
    r = record("-p", "profile:u:499", "--stack-size", "16K", "--", EXAMPLES / "deep", 1, 5000)
    stacks = [s for s in r.stacks("command = 'deep'") if "spin" in s[0]]
    assert stacks
    assert {status for _, _, status, _ in stacks} == {"truncated"}
    assert all(names.count("descend") > 100 for names, *_ in stacks)


def test_every_sample_has_its_stack(record):
    r = record("-p", "profile:uk:199", "-a", "--", EXAMPLES / "cpu", 1)  # an idle machine has no samples
    assert r.one("SELECT count(*) FROM events") > 0
    assert r.one("SELECT count(*) FROM events") == r.one("SELECT count(*) FROM stacks")
    assert r.one("SELECT count(*) FROM stacks WHERE ustack_id IS NOT NULL AND ustack IS NULL") == 0
    assert r.one("SELECT count(*) FROM stacks WHERE kstack_id IS NOT NULL AND kstack IS NULL") == 0
    assert r.one("SELECT count(*) FROM events WHERE pid = 0") == 0
    assert r.one("SELECT count(*) FROM events WHERE kind = 'profile' AND duration != 1000000000 // 199") == 0


SPIN = "volatile unsigned long sink; __attribute__((noinline)) void spin(void) { for (int i = 0; i < 1000000; i++) sink += i; }\n"


def test_static_and_stripped_and_pie_reach_the_root(record, compile_c):
    source = SPIN + (
        "__attribute__((noinline)) int outer(void) { for (int i = 0; i < 700; i++) spin(); return 1; }\n"
        "int main(void) { return outer() - 1; }\n"
    )
    for flags in (["-static"], ["-static-pie"], ["-no-pie"], ["-pie", "-fPIE"]):
        prog = compile_c(source, *flags, name="prog" + flags[0])
        r = record("-p", "profile:u:499", "--", prog)
        stacks = [s for s in r.stacks() if "spin" in s[0]]
        assert stacks and to_root(stacks) == 1, (flags, stacks)
        for names, *_ in stacks:
            assert names[:3] == ["spin", "outer", "main"] and names[-1] == "_start", (flags, names)
    stripped = compile_c(source, "-s", name="stripped")
    r = record("-p", "profile:u:499", "--", stripped)
    stacks = [s for s in r.stacks() if str(stripped) in s[1]]
    assert to_root(stacks) == 1
    for names, modules, _, _ in stacks:
        own = [n for n, m in zip(names, modules) if m == str(stripped)]
        assert set(own) <= {None, "_start"}
    offsets = r.one(
        "SELECT count(*) FROM (SELECT unnest(ustack) AS f FROM stacks) WHERE f.name IS NULL AND (f.address != 0 OR f.build_id IS NULL)"
    )
    assert offsets == 0


def test_cplusplus_and_signal_handler_and_threads_reach_the_root(record, compile_c):
    prog = compile_c(
        "#include <csignal>\n#include <thread>\n#include <vector>\n#include <sys/time.h>\n" + SPIN +
        "namespace shop { template <class T> struct cart { __attribute__((noinline)) void total(T n) { for (T i = 0; i < n; i++) spin(); } }; }\n"
        "extern \"C\" __attribute__((noinline)) void on_alarm(int) { for (int i = 0; i < 300; i++) spin(); }\n"
        "int main() {\n"
        "  std::thread t([] { shop::cart<int>().total(600); });\n"
        "  signal(SIGALRM, on_alarm); raise(SIGALRM);\n"
        "  t.join(); }\n",
        "-pthread", compiler="g++", suffix=".cc", name="shop",
    )
    r = record("-p", "profile:u:499", "--", prog)
    stacks = [s for s in r.stacks() if s[0] and s[0][0] == "spin()"]
    assert stacks and to_root(stacks) == 1, stacks
    seen = set()
    for names, *_ in stacks:
        if any(n and n.startswith("shop::cart<int>::total(int)") for n in names):
            seen.add("thread")
            assert "clone" in names[-1]
        else:
            seen.add("signal")
            assert "on_alarm" in names, names
            at = names.index("on_alarm")
            assert "main" in names[at:] and names[-1] == "_start", names
    assert seen == {"thread", "signal"}


@pytest.mark.skipif(not shutil.which("rustc"), reason="no rustc")
def test_rust_reaches_the_root(record, tmp_path):
    src = tmp_path / "r.rs"
    src.write_text(
        "mod bank { #[inline(never)] pub fn spin(n: u64) -> u64 { let mut x = n; for i in 0..300_000_000u64 {"
        " x = std::hint::black_box(x.wrapping_mul(6364136223846793005).wrapping_add(i)); } x } }\n"
        "fn main() { std::thread::spawn(|| println!(\"{}\", bank::spin(1))).join().unwrap(); }\n"
    )
    prog = tmp_path / "rusty"
    subprocess.run(["rustc", "-O", "--crate-name", "rusty", "-o", prog, src], check=True)
    r = record("-p", "profile:u:499", "--", prog)
    stacks = [s for s in r.stacks() if "rusty::bank::spin" in s[0]]
    assert stacks and to_root(stacks) == 1, r.stacks()
    assert all("clone" in names[-1] for names, *_ in stacks)


@pytest.mark.skipif(not shutil.which("go"), reason="no go")
def test_go_reaches_the_root(record, tmp_path):
    src = tmp_path / "g.go"
    src.write_text(
        "package main\nvar sink uint64\n//go:noinline\nfunc spin() { for i := uint64(0); i < 400000000; i++ { sink += i } }\n"
        "//go:noinline\nfunc outer(done chan bool) { spin(); done <- true }\n"
        "func main() { done := make(chan bool); go outer(done); <-done; spin() }\n"
    )
    prog = tmp_path / "gopher"
    subprocess.run(["go", "build", "-o", prog, src], check=True, env={**__import__("os").environ, "GOFLAGS": ""})
    r = record("-p", "profile:u:499", "--", prog)
    # Not in the handler of Go's preemption signal, which has its own stack.
    stacks = [s for s in r.stacks() if s[0][0] == "main.spin"]
    assert stacks and to_root(stacks) == 1, stacks
    assert {"main.outer" in names for names, *_ in stacks} == {True, False}
    for names, *_ in stacks:
        assert names[-1] == "runtime.goexit.abi0" or names[-1] == "runtime.goexit", names


# Go's runtime collects garbage, grows stacks and makes calls for goroutines on the threads' own stacks.
BUSY_GO = """package main
import "fmt"
type node struct { l, r *node; v [4]int }
//go:noinline
func build(d int) *node { if d == 0 { return &node{} }; return &node{l: build(d - 1), r: build(d - 1)} }
//go:noinline
func deep(n int) int { var a [64]byte; if n == 0 { return 1 }; a[n%64] = 1; return deep(n-1) + int(a[3]) }
func main() {
	for i := 0; i < 3000; i++ {
		t, c := build(12), make(chan int)
		go func() { c <- deep(200) }()
		if <-c == 0 { fmt.Println(t) }
	}
}
"""


# With cgo, the C library provides the stacks of the threads. Without symbols, the names come from Go's own table.
@pytest.mark.skipif(not shutil.which("go"), reason="no go")
@pytest.mark.parametrize("cgo", [False, True], ids=["go", "cgo"])
@pytest.mark.parametrize("flags", [[], ["-ldflags=-s -w"]], ids=["symbols", "stripped"])
def test_go_on_its_threads_own_stacks_reaches_the_root(record, tmp_path, cgo, flags):
    (tmp_path / "g.go").write_text(BUSY_GO.replace('import "fmt"', 'import ("fmt"; "C")') if cgo else BUSY_GO)
    prog = tmp_path / "gopher"
    env = {**os.environ, "GOFLAGS": "", "CGO_ENABLED": str(int(cgo))}
    subprocess.run(["go", "build", *flags, "-o", prog, tmp_path / "g.go"], check=True, env=env)
    r = record("-p", "profile:u:1999", "--", prog)
    for function in ("runtime.systemstack", "runtime.morestack"):
        stacks = [s for s in r.stacks("command = 'gopher'") if any(n in (function, function + ".abi0") for n in s[0])]
        # While Go copies a stack to a larger one, frame pointers in it lead to the old one. A stripped program has nothing
        # else.
        walkable = [s for s in stacks if not flags or "runtime.copystack" not in s[0]]
        cut = sum(n for _, _, status, n in walkable if status != "root")
        assert sum(n for *_, n in stacks) > 10 and cut <= 2 + 0.1 * sum(n for *_, n in walkable), (function, stacks)
        # Their callers are on the goroutine's stack.
        assert any("main.deep" in names or "main.build" in names for names, *_ in stacks), stacks


# Signals to its threads, also during the last system call of a handler.
SIGNALLED_GO = """package main
import ("fmt"; "os"; "os/signal"; "syscall"; "time")
//go:noinline
func deep(n int) int { if n == 0 { s := 0; for i := 0; i < 100000; i++ { s += i * i % 7 }; return s }; return deep(n-1) + 1 }
func main() {
	c := make(chan os.Signal, 100)
	signal.Notify(c, syscall.SIGUSR1)
	go func() { for range c {} }()
	for i := 0; i < 3; i++ { go func() { for { syscall.Kill(os.Getpid(), syscall.SIGUSR1) } }() }
	for end, t := time.Now().Add(2 * time.Second), 0; ; t += deep(20) { if time.Now().After(end) { fmt.Println(t); return } }
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="no go")
def test_go_in_signal_handlers_reaches_the_root(record, tmp_path):
    (tmp_path / "g.go").write_text(SIGNALLED_GO)
    prog = tmp_path / "gopher"
    subprocess.run(["go", "build", "-o", prog, tmp_path / "g.go"], check=True, env={**__import__("os").environ, "GOFLAGS": ""})
    stacks = record("-p", "profile:u:1999", "--", prog).stacks("command = 'gopher'")
    handlers = [s for s in stacks if any(n and n.startswith("runtime.sigreturn") for n in s[0])]
    assert sum(n for *_, n in handlers) > 10 and to_root(handlers) > 0.9, handlers
    assert any((names[-1] or "").startswith("runtime.goexit") for names, *_ in handlers), handlers


HANDLERS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
volatile unsigned long sink;
static void handler(int s) { for (int i = 0; i < 300000; i++) sink += s; }
__attribute__((noinline)) void work(int n) { if (n) { work(n - 1); sink++; } else raise(SIGUSR1); }
static void *run(void *arg)
{
	stack_t st = { .ss_sp = malloc(99999), .ss_size = 99999 };
	sigaltstack(&st, 0);
	for (int i = 0; i < 500; i++)
		work(5);
	return arg;
}
int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_t t;
	sigaction(SIGUSR1, &sa, 0);
	pthread_create(&t, 0, run, 0);
	run(0);
	return pthread_join(t, 0);
}
"""


def test_handlers_on_signal_stacks_reach_the_root(record, compile_c):
    """Behind the handlers is the interrupted code on the thread's own stack."""
    stacks = record("-p", "profile:u:999", "--", compile_c(HANDLERS, "-lpthread", name="handlers")).stacks("command = 'handlers'")
    handlers = [s for s in stacks if s[0][0] == "handler"]
    assert to_root(handlers) > 0.95, handlers
    for first in ("_start", "start_thread"):
        assert any(names.count("work") == 6 and first in names for names, *_ in handlers), handlers


def test_python3_reaches_the_root(record):
    code = "def f(n):\n  return sum(i*i for i in range(20000)) if n == 0 else f(n-1)\nimport time\nwhile time.process_time()<1.5: f(20)\n"
    r = record("-p", "profile:u:499", "--", "/usr/bin/python3", "-c", code)
    stacks = [s for s in r.stacks("command = 'python3'") if s[0] and "_PyEval_EvalFrameDefault" in s[0]]
    assert sum(n for *_, n in stacks) > 50
    assert to_root(stacks) > 0.99
    assert all(names[-1] == "_start" for names, _, status, _ in stacks if status == "root")


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
def test_jit_code_is_walked_by_frame_pointer_and_marked(record):
    r = record("--no-runtimes", "-p", "profile:u:499", "--", "node", "-e", "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } fib(37)")
    stacks = [s for s in r.stacks("command = 'node' AND pid = tgid") if "[anon]" in s[1]]
    assert sum(n for *_, n in stacks) > 50
    assert to_root(stacks) > 0.95
    marks = r.rows("SELECT DISTINCT f.mark, f.module = '[anon]' FROM (SELECT unnest(frames) AS f FROM stacktraces) WHERE f.mark IS NOT NULL")
    assert {m for m, in_jit_code in marks if in_jit_code} == {"guess", "frame_pointer"}


# A large buffer between two frames, of which only the ends are touched. It is in a thread with a fresh stack.
BUFFER = """
#include <pthread.h>
static volatile long sink;
static __attribute__((noinline)) void leaf(void) { for (long i = 0; i < 400000000; i++) sink += i; }
static __attribute__((noinline)) void caller(void)
{
	volatile char buffer[%d];
	buffer[0] = buffer[sizeof(buffer) - 1] = 1;
	leaf();
	sink += buffer[0];
}
static void *run(void *arg) { caller(); return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); return 0; }
"""


@pytest.mark.parametrize("kb, names, status", [
    (100, ["leaf", "caller", "run", "start_thread"], "root"),
    (200, ["leaf"], "truncated"),
], ids=["bridged", "too large"])
def test_an_untouched_buffer_is_bridged_up_to_a_limit(record, compile_c, kb, names, status):
    program = compile_c(BUFFER % (kb << 10), "-O1", "-pthread", "-fomit-frame-pointer", name="buffer")
    r = record("-p", "profile:u:999", "--", program)
    stacks = [(found, how, n) for found, _, how, n in r.stacks("tgid != pid") if found[0] == "leaf"]
    assert sum(n for *_, n in stacks) > 50
    for found, how, _ in stacks:
        assert (found[:len(names)], how) == (names, status)
