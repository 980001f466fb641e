# SPDX-License-Identifier: GPL-2.0-or-later
"""What the calls of interpreted programs cost at each sample: 20 different functions, with and without runtimes in turns."""
import os
import shutil
import signal
import subprocess
import time

import profilers
from measure import SETTLED, Run, row, say

SECONDS = 4
TURNS = 3
CALLS = 20


def python_program():
    yield "def f0():\n    x = 0\n    while True: x += 1"
    yield from (f"def f{i}(): return f{i - 1}()" for i in range(1, CALLS - 1))
    yield f"f{CALLS - 2}()"


def ruby_program():
    yield "def f0\n  x = 0\n  while true\n    x += 1\n  end\nend"
    yield from (f"def f{i} = f{i - 1}" for i in range(1, CALLS - 1))
    yield f"f{CALLS - 2}"


def php_program():
    yield "<?php\nfunction f0() { for ($x = 0;;) $x++; }"
    yield from (f"function f{i}() {{ return f{i - 1}(); }}" for i in range(1, CALLS - 1))
    yield f"f{CALLS - 2}();"


def java_program():
    yield "public class Calls {\n    static volatile long x;\n    static void f0() { while (true) x++; }"
    yield from (f"    static void f{i}() {{ f{i - 1}(); }}" for i in range(1, CALLS - 1))
    yield f"    public static void main(String[] a) {{ f{CALLS - 2}(); }}\n}}"


PROGRAMS = {"python3": python_program, "ruby": ruby_program, "php": php_program}


SERVER = f"""
import os, socket
near, far = socket.socketpair()
client = os.fork() == 0
def serve(depth):
    return serve(depth - 1) if depth else far.send(far.recv(64))
while True:
    if client:
        near.send(b"request")
        near.recv(64)
    else:
        serve({CALLS})
"""


def cost(folder, program, *options):
    """ns of BPF per recorded sample. Those of other programs are dropped at their start and count as part of it."""
    r = Run(folder, "-p", "profile:u:499", "--pid", str(program.pid), *options)
    time.sleep(SECONDS)
    r.stop()
    return r.bpf_ns / max(r.rows, 1)


def server_cost(folder, program, *options):
    """ns of BPF and of the collector per switch of a server and its client."""
    r = Run(folder, "-p", "switch:u", "--pid", str(program.pid), *options)
    r.settle()
    before = time.monotonic()
    time.sleep(SECONDS)
    seconds = time.monotonic() - before
    r.stop()
    rows = max(r.rows, 1)
    return r.bpf_ns / rows, 1e9 * r.cpu_used / (rows * seconds / (seconds + SETTLED))


def beside_no_runtimes(tmp, python):
    say(f"switches of a Python server of {CALLS} calls, with and without runtimes, {TURNS} times in turns")
    program = subprocess.Popen([python, "-c", SERVER], start_new_session=True)
    try:
        costs = [[server_cost(tmp / f"server{turn}{len(o)}", program, *o) for o in ((), ("--no-runtimes",))] for turn in range(TURNS)]
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    ratios = sorted(sum(a) / sum(b) for a, b in costs)
    row(f"switch:u of a Python server of {CALLS} calls: BPF and collector per switch, × --no-runtimes",
        f"{ratios[len(ratios) // 2]:.2f} ({', '.join(f'{1e-3 * sum(a):.1f} and {1e-3 * sum(b):.1f} µs' for a, b in costs)})")


def measure(tmp):
    say(f"BPF per sample of programs with {CALLS} calls, with and without runtimes, {TURNS} times in turns")
    for name, program in PROGRAMS.items():
        path = shutil.which(name, path="/usr/bin")
        if not path:
            continue
        script = tmp / f"calls.{name}"
        script.write_text("\n".join(program()) + "\n")
        program = subprocess.Popen([path, script])
        try:
            costs = [[cost(tmp / f"{name}{turn}{len(o)}", program, *o) for o in ((), ("--no-runtimes",))] for turn in range(TURNS)]
        finally:
            program.kill()
            program.wait()
        more = sorted(a - b for a, b in costs)
        if name == "python3":
            beside_no_runtimes(tmp, path)
            profilers.beside(tmp, "Python", [path, script])
        row(f"profile:u, a program of {name} with {CALLS} calls: BPF per sample more than with --no-runtimes",
            f"{1e-3 * more[len(more) // 2]:.1f} µs ({', '.join(f'{1e-3 * a:.1f} and {1e-3 * b:.1f}' for a, b in costs)})")
    if shutil.which("javac"):
        (tmp / "Calls.java").write_text("\n".join(java_program()))
        subprocess.run(["javac", "-d", tmp, tmp / "Calls.java"], check=True)
        profilers.beside(tmp, "Java", ["java", "-cp", tmp, "Calls"])
