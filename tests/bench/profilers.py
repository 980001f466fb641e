# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU of other profilers of interpreted programs at 99 Hz, beside the collector's, in turns. Those that are not installed are
left out: tests/differential/setup installs all but OpenTelemetry's eBPF profiler, which is built from its source."""
import contextlib
import json
import pathlib
import resource
import signal
import subprocess
import time

from measure import BUILD, ROOT, Run, cpu_of, row, say

SECONDS = 20
TURNS = 3
SETTLED = 8  # seconds, of a profiler that looks at all processes at its start
PEERS = ROOT / ".deps/differential"
PY_SPY = PEERS / "bin/py-spy"
ASYNC_PROFILER = PEERS / "async-profiler/linux-x64/libasyncProfiler.so"
OTEL = PEERS / "bin/ebpf-profiler"
STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")

# OpenTelemetry's profiler sends to this, and does not start without it.
RECEIVER = """
import concurrent.futures, grpc
class Any(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
server = grpc.server(concurrent.futures.ThreadPoolExecutor(1), options=[("grpc.max_receive_message_length", 1 << 28)])
server.add_generic_rpc_handlers([Any()])
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""

# Samples in the signal's handler, or on the way through the kernel to it and back, of all of the program's samples.
IN_HANDLER = """
SELECT count(*) FILTER (len(list_filter(ustack, lambda f: f.module LIKE '%libasyncProfiler%')) > 0
                        OR len(list_filter(kstack, lambda f: f.name LIKE '%signal%' OR f.name LIKE '%sigreturn%')) > 0) / count(*)
FROM stacks WHERE kind = 'profile'"""


def bpf_ns():
    """{id: run time} of all BPF programs."""
    shown = subprocess.run(["bpftool", "prog", "show", "-j"], capture_output=True, text=True, check=True)
    return {p["id"]: p.get("run_time_ns", 0) for p in json.loads(shown.stdout)}


def by_collector(folder, program):
    r = Run(folder, "-p", "profile:u:99", "--pid", str(program.pid))
    r.settle()
    before = bpf_ns()
    time.sleep(SECONDS)
    ns = sum(ns - before.get(i, 0) for i, ns in bpf_ns().items())
    return r.stop().cpu_used + 1e-9 * ns


def by_py_spy(folder, program):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PY_SPY, "record", "--native", "-r", "99", "-d", str(SECONDS), "-f", "raw", "-o", folder, "--pid", str(program.pid)],
                   check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ask_async_profiler(program, command):
    subprocess.run(["jcmd", str(program.pid), "JVMTI.agent_load", ASYNC_PROFILER, f'"{command}"'], check=True, capture_output=True)


def by_async_profiler(folder, program):
    """It works in the program's own threads: a second profiler says for how long."""
    ask_async_profiler(program, "start,event=cpu,interval=10101010")
    r = Run(folder, "-p", "profile:uk:4999", "--pid", str(program.pid))
    r.settle()
    before = cpu_of(program.pid)
    time.sleep(SECONDS)
    cpu = cpu_of(program.pid) - before
    r.stop()
    ask_async_profiler(program, f"stop,file={folder}/collapsed,collapsed")
    share = subprocess.run([BUILD / "bin/stacksexport", "query", "--format=csv", "-r", folder, IN_HANDLER],
                           capture_output=True, text=True, check=True)
    return cpu * float(share.stdout.splitlines()[-1])


def by_otel(folder, _):
    """All processes: it cannot be limited to one."""
    known = bpf_ns()
    with subprocess.Popen([PEERS / "bin/python", "-c", RECEIVER], stdout=subprocess.PIPE, text=True) as receiver:
        address = f"127.0.0.1:{receiver.stdout.readline().strip()}"
        p = subprocess.Popen([OTEL, "-collection-agent", address, "-disable-tls", "-samples-per-second", "99"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(SETTLED)
        cpu, before = cpu_of(p.pid), bpf_ns()
        time.sleep(SECONDS)
        cpu, ns = cpu_of(p.pid) - cpu, sum(ns - before.get(i, 0) for i, ns in bpf_ns().items() if i not in known)
        p.send_signal(signal.SIGINT)
        p.wait()
        receiver.kill()
    return cpu + 1e-9 * ns


@contextlib.contextmanager
def bpf_stats():
    before = STATS.read_text()
    STATS.write_text("1")
    try:
        yield
    finally:
        STATS.write_text(before)


def measure(tmp, language, program, peers):
    """peers: [(name, file, by)]"""
    for name, path, _ in peers:
        if not path.exists():
            say(f"without {name}: no {path.relative_to(ROOT)}")
    peers = [("collector", None, by_collector)] + [p for p in peers if p[1].exists()]
    say(f"CPU of {', '.join(n for n, *_ in peers)} at 99 Hz on a {language} program, {TURNS} times in turns")
    with bpf_stats():
        costs = [[by(tmp / f"{language}{turn}{name}", program) for name, _, by in peers] for turn in range(TURNS)]
    for (name, *_), cpu in zip(peers, zip(*costs)):
        row(f"99 Hz, a {language} program: CPU of {name}, with BPF", f"{100 * min(cpu) / SECONDS:.2f}–{100 * max(cpu) / SECONDS:.2f} % of a core")


PEERS_OF = {
    "Python": [("py-spy", PY_SPY, by_py_spy), ("OpenTelemetry", OTEL, by_otel)],
    "Java": [("async-profiler", ASYNC_PROFILER, by_async_profiler), ("OpenTelemetry", OTEL, by_otel)],
}


def beside(tmp, language, argv):
    program = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    try:
        time.sleep(2)
        measure(tmp, language, program, PEERS_OF[language])
    finally:
        program.kill()
        program.wait()
