# SPDX-License-Identifier: GPL-2.0-or-later
"""Python: a program's own functions, with lines, between native frames, from every event source."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from conftest import EXPORT, needs_bpf, wait_for

pytestmark = needs_bpf

VERSIONS = range(9, 16)


def interpreters():
    """Those of this system, and those that STACKS_PYTHONS names (a list like PATH)."""
    found = [shutil.which(f"python3.{minor}", path="/usr/bin") for minor in VERSIONS]
    return [p for p in found if p] + [p for p in os.environ.get("STACKS_PYTHONS", "").split(":") if p]


PYTHONS = interpreters()
every_python = pytest.mark.parametrize("python", PYTHONS, ids=[pathlib.Path(p).name for p in PYTHONS])
if not PYTHONS:
    pytestmark = pytest.mark.skip(reason="no Python from 3.9 on in /usr/bin (Debian: python3)")

BUSY = """
import functools, sys, time
def spin(n):
    t = 0
    for i in range(n):
        t += i * i
    return t
def key(x):
    return spin(2000)
def callbacks():
    sorted(range(20), key=key)
def recurse(n):
    if n == 0:
        return spin(20000)
    return recurse(n - 1)
def generate():
    for i in range(5):
        spin(5000)
        yield i
class A:
    def __init__(self):
        self.x = spin(5000)
    def method(self):
        functools.reduce(lambda a, b: spin(1000) + a, range(20))
def fail():
    try:
        raise ValueError(spin(2000))
    except ValueError:
        spin(2000)
def main():
    end = time.process_time() + 1
    while time.process_time() < end:
        callbacks()
        recurse(300)
        list(generate())
        A().method()
        fail()
main()
"""

# Each function's possible callers, with the lines of the calls.
CALLS = {
    "spin": {("key", 9), ("recurse", 14), ("generate", 18), ("A.__init__", 22), ("A.method.<locals>.<lambda>", 24),
             ("fail", 27), ("fail", 29)},
    "key": {("callbacks", 11)},
    "callbacks": {("main", 33)},
    "recurse": {("recurse", 15), ("main", 34)},
    "generate": {("main", 35)},
    "A.__init__": {("main", 36)},
    "A.method.<locals>.<lambda>": {("A.method", 24)},
    "A.method": {("main", 36)},
    "fail": {("main", 37)},
    "main": {("<module>", 38)},
}


def named(python, name):
    """The name that code has in this Python: before 3.11 only functions know their qualified names."""
    minor = int(re.search(r"python3[.](\d+)", str(python))[1])
    return name if minor >= 11 else name.split(".")[-1]


def write(tmp_path, source, name="prog.py"):
    path = tmp_path / name
    path.write_text(source)
    return path


def scripts(stack, script):
    """(name, line) of the frames of a script, leaf first."""
    return [(f["name"], f["line"]) for f in stack if f["module"] == str(script)]


@every_python
def test_a_busy_program_has_whole_stacks_in_the_right_order(record, tmp_path, python):
    script = write(tmp_path, BUSY)
    # 300 calls take more than 256 KB in 3.10, where each has a frame of the interpreter's function.
    r = record("-p", "profile:u:499", "--stack-size=1M", "--", python, script)
    rows = r.rows("SELECT ustack, unwind FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL")
    program = [(scripts(s, script), u, s) for s, u in rows if scripts(s, script)]
    assert len(program) > 200
    whole = 0
    calls = {}
    for callee, callers in CALLS.items():
        calls.setdefault(named(python, callee), set()).update((named(python, f), line) for f, line in callers)
    for frames, status, stack in program:
        for (callee, _), caller in zip(frames, frames[1:]):
            assert caller in calls[callee], stack
        whole += frames[-1][0] == "<module>" and status == "root"
        assert {f["mark"] for f in stack if f["module"] == str(script)} == {"python"}
    assert whole >= 0.99 * len(program)
    assert max(len(f) for f, *_ in program) > 300


@every_python
def test_native_frames_lie_between_the_functions_that_call_them(record, tmp_path, python):
    script = write(tmp_path, BUSY)
    r = record("-p", "profile:u:499", "--", python, script)
    (stack,), *_ = r.rows("""
        SELECT ustack FROM stacks WHERE kind = 'profile'
        AND list_contains(list_transform(ustack, lambda f: f.name), 'key') LIMIT 1""")
    names = [f["name"] if f["mark"] == "python" else f["mark"] for f in stack]
    at, callbacks = names.index("key"), names.index("callbacks")
    # sorted() and the activation of the interpreter for key() are the interpreter's own.
    assert at < callbacks - 1 and set(names[at + 1:callbacks]) == {"interpreter"}
    # Before 3.11 each function has an activation of its own.
    assert [n for n in names[callbacks + 1:] if n != "interpreter"][:2] == ["main", "<module>"]


def makes_trampolines(python):
    return subprocess.run([python, "-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.skipif(not any(map(makes_trampolines, PYTHONS)), reason="no Python from 3.12 on in STACKS_PYTHONS")
@pytest.mark.parametrize("options", [[], ["--no-runtimes"]], ids=["runtimes", "native"])
def test_trampolines_for_perf_are_crossed(record, tmp_path, options):
    """With -X perf. Only what the trampolines themselves run may end elsewhere."""
    script = write(tmp_path, BUSY)
    for python in filter(makes_trampolines, PYTHONS):
        r = record("-p", "profile:u:499", *options, "--", python, "-X", "perf", script)
        root, cnt = r.rows("""
            SELECT count(*) FILTER (unwind = 'root'), count(*) FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL
            """)[0]
        assert cnt > 200 and root >= 0.99 * cnt, python


WAITING = """
import json, os, queue, select, socket, sys, threading, time
ready = []
def blocked(enter):
    ready.append(threading.get_native_id())
    enter()
def deep(n, enter):
    return enter() if n == 0 else deep(n - 1, enter)
lock = threading.Lock()
lock.acquire()
a, b = socket.socketpair()
def sleeps(): time.sleep(1000)
def locks(): lock.acquire()
def waits_for_an_event(): threading.Event().wait()
def reads_a_queue(): queue.Queue().get()
def receives(): a.recv(1)
def selects(): select.select([b], [], [])
def generates():
    def inner():
        yield time.sleep(1000)
    for _ in inner():
        pass
def sorts(): sorted([1, 2], key=lambda x: time.sleep(1000))
def maps(): list(map(lambda x: time.sleep(1000), [1]))
class Sleeper:
    def __init__(self): time.sleep(1000)
    def __str__(self): time.sleep(1000)
    def __lt__(self, other): time.sleep(1000)
    @property
    def value(self): time.sleep(1000)
def instantiates(): Sleeper()
def prints(): str(object.__new__(Sleeper))
def compares(): sorted([object.__new__(Sleeper), object.__new__(Sleeper)])
def reads_a_property(): object.__new__(Sleeper).value
def handles():
    try:
        1 / 0
    except ZeroDivisionError:
        time.sleep(1000)
def runs_a_loop():
    import asyncio
    async def inner(): time.sleep(1000)
    async def outer(): await inner()
    asyncio.run(outer())
enters = [sleeps, locks, waits_for_an_event, reads_a_queue, receives, selects, generates, sorts, maps, instantiates,
          prints, compares, reads_a_property, handles, runs_a_loop] * 4
threading.stack_size(1 << 20)
for i, enter in enumerate(enters):
    threading.Thread(target=blocked, args=(lambda e=enter, n=i: deep(n, e),), daemon=True).start()
def state(tid):
    return open(f"/proc/{tid}/stat").read().rsplit(")", 1)[1].split()[0]
while len(ready) < len(enters) or any(state(t) != "S" for t in ready):
    time.sleep(0.1)
time.sleep(0.5)
def frames(f):
    while f:
        yield getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, f.f_lineno
        f = f.f_back
ids = {t.ident: t.native_id for t in threading.enumerate()}
found = {ids[i]: list(frames(f)) for i, f in sys._current_frames().items() if i != threading.get_ident()}
with open(sys.argv[1] + ".new", "w") as out:
    json.dump(found, out)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""


@every_python
def test_stopped_threads_are_where_python_says(start, spawn, tmp_path, python):
    script, said = write(tmp_path, WAITING), tmp_path / "said.json"
    program = spawn(python, script, said)
    wait_for(said.exists)
    expected = {int(k): [tuple(f) for f in v] for k, v in json.loads(said.read_text()).items()}
    c = start("-p", "switch:u", "--pid", str(program.pid))
    time.sleep(1)  # functions are read after the first events that have them
    r = c.stop()
    found = {}
    for pid, stack in r.rows("SELECT pid, ustack FROM stacks WHERE kind = 'switch' AND ustack_id IS NOT NULL"):
        found.setdefault(pid, [(f["name"], f["module"], f["line"]) for f in stack if f["mark"] == "python"])
    differing = {t: (expected[t], found.get(t)) for t in expected if expected[t] != found.get(t)}
    assert len(expected) == 60
    assert not differing, json.dumps(differing, indent=1)


# Long enough for an overloaded machine, which recognises the program after a second.
TURNS = """
import threading, time
end = time.time() + 4
def spin():
    t = 0
    while time.time() < end:
        for i in range(1000): t += i
def naps():
    while time.time() < end: time.sleep(0.001)
def locks():
    lock = threading.Lock(); lock.acquire()
    while time.time() < end: lock.acquire(timeout=0.01)
threads = [threading.Thread(target=t, name=t.__name__) for t in (spin, spin, naps, locks)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def has_gil(python):
    return not str(python).endswith("t")


@every_python
def test_a_wait_for_the_gil_has_a_name(record, tmp_path, python):
    if not has_gil(python):
        pytest.skip("a free-threaded build")
    script = write(tmp_path, TURNS)
    r = record("-p", "switch:u", "--", python, script)
    cnt = {}
    for stack, n in r.rows("""
            SELECT ustack, count(*) FROM stacks WHERE kind = 'switch' AND state = 'sleeping' AND ustack_id IS NOT NULL
            GROUP BY ALL"""):
        function = next((name for name, _ in scripts(stack, script)), None)
        waits = stack[0]["name"] == "(waits for the GIL)"
        assert waits == any(f["mark"] == "waits" for f in stack)
        native = [f["name"] for f in stack if f["mark"] not in ("python", "waits")]
        assert not waits or "pthread_cond_" in " ".join(n or "" for n in native[:8]), stack
        cnt[function, waits] = cnt.get((function, waits), 0) + n
    # A thread that computes waits for nothing else; those that sleep, or try to lock, do both.
    assert cnt.get(("spin", True), 0) > max(50, 5 * cnt.get(("spin", False), 0)), cnt
    assert all(cnt.get((f, w), 0) > 20 for f in ("naps", "locks") for w in (True, False)), cnt


@pytest.mark.skipif(all(map(has_gil, PYTHONS)), reason="no free-threaded Python in STACKS_PYTHONS")
def test_without_a_gil_no_thread_waits_for_it(record, tmp_path):
    script = write(tmp_path, TURNS)
    r = record("-p", "switch:u", "--", next(p for p in PYTHONS if not has_gil(p)), script)
    leaves = r.rows("SELECT ustack[1].name, ustack FROM stacks WHERE kind = 'switch' AND state = 'sleeping' AND ustack_id IS NOT NULL")
    assert sum(1 for _, stack in leaves if scripts(stack, script)) > 100
    assert all(name != "(waits for the GIL)" for name, _ in leaves)


SOURCES = """
import os, socket, sys, threading, time
def writes(fd): os.write(fd, b"x" * 4096)
def sends(s): s.send(b"x")
def allocates(): return bytearray(1 << 22)
def sleeps(): time.sleep(0.001)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
end = time.time() + 2
while time.time() < end:
    writes(fd); sends(client); peer.recv(1); allocates(); sleeps()
"""


@every_python
def test_every_source_has_the_functions(record, tmp_path, python):
    script = write(tmp_path, SOURCES)
    r = record("-p", "switch:u,rss:u:0,vfs:u,net:u", "--", python, script, tmp_path / "out")
    for kind, function in [("switch", "sleeps"), ("rss", "allocates"), ("vfs_write", "writes"), ("tcp_send", "sends")]:
        cnt = r.one(f"""
            SELECT count(*) FROM stacks WHERE kind = '{kind}' AND
            list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), '{function}:{script}')""")
        assert cnt > 20, kind


WORKERS = """
import multiprocessing, sys, time
def work(n):
    end = time.process_time() + 0.7
    while time.process_time() < end:
        sum(i * i for i in range(1000))
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=(i,)) for i in range(2)]
    [w.start() for w in workers]
    [w.join() for w in workers]
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_have_the_functions_of_their_own(record, tmp_path, how):
    script = write(tmp_path, WORKERS)
    r = record("-p", "profile:u:199", "--", PYTHONS[0], script, how)
    rows = r.rows(f"""
        SELECT tgid, count(*) FROM stacks WHERE kind = 'profile' AND
        list_contains(list_transform(ustack, lambda f: f.name || ':' || f.module), 'work:{script}') GROUP BY tgid""")
    assert len(rows) == 2 and all(cnt > 20 for _, cnt in rows)


def test_without_runtimes_stacks_are_native(record, tmp_path):
    script = write(tmp_path, BUSY)
    r = record("-p", "profile:u:199", "--no-runtimes", "--", PYTHONS[0], script)
    assert r.one("SELECT count(*) FROM stacks WHERE len(ustack) > 0") > 50
    assert r.one("SELECT count(*) FROM stacktraces, unnest(frames) AS t(f) WHERE f.line IS NOT NULL OR f.mark IS NOT NULL") == 0


def test_ids_of_stacks_are_the_same_in_every_process(record, tmp_path):
    """The functions lie elsewhere in each process."""
    script = write(tmp_path, BUSY)
    ids = []
    for _ in range(2):
        r = record("-p", "profile:u:499", "--", PYTHONS[0], script)
        ids.append({i for (i,) in r.rows("""
            SELECT stack_id FROM stacktraces WHERE frames[1].name = 'spin' AND frames[2].name = 'key'""")})
    assert len(ids[0] & ids[1]) >= 2


FORGED = """
#include <pthread.h>
#include <stdint.h>
#include <string.h>
struct { char cookie[8]; uint64_t words[200]; } _PyRuntime;
static volatile uint64_t interpreter[4], frame[16], state[64];
static __thread volatile uint64_t slot;
int main(void)
{
	for (int i = 0; i < 200; i++)
		_PyRuntime.words[i] = 8;
	_PyRuntime.words[0] = 0x030d00f0;
	_PyRuntime.words[1] = 0;
	_PyRuntime.words[4] = 1600;              /* interpreters.head */
	_PyRuntime.words[199] = (uintptr_t)interpreter;
	interpreter[1] = (uintptr_t)state;       /* next and threads.head */
	state[1] = (uintptr_t)state;             /* the next thread is this one */
	_PyRuntime.words[23] = 16;               /* thread_id */
	_PyRuntime.words[22] = 24;               /* current_frame */
	state[2] = (uint64_t)pthread_self();
	state[3] = (uintptr_t)frame;
	frame[1] = (uintptr_t)frame;             /* a list that loops */
	slot = (uintptr_t)state;
	memcpy(_PyRuntime.cookie, "xdebugpy", 8);
	for (volatile uint64_t i = 0; i < 3000000000; i++)
		;
	return 0;
}
"""


def test_a_forged_runtime_is_bounded(record, compile_c, tmp_path):
    program = shutil.copy(compile_c(FORGED, "-O1", "-rdynamic"), tmp_path / "python3.13")
    r = record("-p", "profile:u:99", "--", program)
    rows = r.rows("SELECT unwind, len(ustack) FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL")
    assert "limit" in {u for u, _ in rows} and max(n for _, n in rows) <= 1024 + 32
    assert r.one("SELECT count(*) FROM stacktraces, unnest(frames) AS t(f) WHERE f.mark = 'python'") == 0


def test_interpreters_are_hidden_unless_asked_for(record, tmp_path):
    script = write(tmp_path, BUSY)
    r = record("-p", "profile:u:199", "--", PYTHONS[0], script)
    counts = {}
    for options in ([], ["--interpreter"]):
        out = subprocess.run([EXPORT, "query", "-r", r.path, "--format", "json", *options,
                              "SELECT count(*) AS n FROM stacktraces, unnest(frames) AS t(f) WHERE f.mark = 'interpreter'"],
                             check=True, capture_output=True, text=True).stdout
        counts[tuple(options)] = json.loads(out)[0]["n"]
    assert counts[()] == 0 and counts[("--interpreter",)] > 10
