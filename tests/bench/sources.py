# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of each event source: in the kernel, in the collector, on disk, and the extra CPU time of real programs."""
import contextlib
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import time

from measure import BUILD, COLLECTOR, ROOT, Run, say

SECONDS = 3
NGINX = ROOT / ".deps/bench/usr/sbin/nginx"
SPANS = BUILD / "examples/spans_server"
FEW = 1000  # events: with fewer, the cost is not measurable
CHURN = """
import json, time
end, n = time.monotonic() + %d, 0
while time.monotonic() < end:
    rows = [{"id": i, "name": "name %%d" %% i, "tags": ["a", "b"] * 4} for i in range(20000)]
    text = json.dumps(rows)
    del rows
    json.loads(text)
    n += 1
print(n)
"""

# ---- loads: each returns its number of operations -----------------------------------------------------------------

# On one CPU: the time to wake up a CPU of a virtual machine depends on everything except what this measures.
PIN = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]


def output(*argv):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True).stdout


def cpu_ns(pid):
    """CPU time of a process and its running children."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(int(pathlib.Path(f"/proc/{p}/schedstat").read_text().split()[0]) for p in [pid, *children])


class Loads:
    """Real programs."""

    def __init__(self, tmp):
        self.tmp = tmp
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.address = s.getsockname()
        self.nginx = None

    @contextlib.contextmanager
    def server(self):
        (self.tmp / "index.html").write_text("x" * 4096)
        conf = self.tmp / "nginx.conf"
        folders = "".join(f"{what}_temp_path {self.tmp}; " for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        conf.write_text(f"daemon off; worker_processes 1; pid {self.tmp}/pid; user root; error_log stderr crit; events {{}}\n"
                        f"http {{ access_log off; {folders}server {{ listen %s:%d; root {self.tmp}; }} }}\n" % self.address)
        self.nginx = subprocess.Popen([*PIN, NGINX, "-p", self.tmp, "-c", conf])
        try:
            while self.nginx.poll() is None and socket.socket().connect_ex(self.address):
                time.sleep(0.01)
            yield
        finally:
            self.nginx.terminate()
            self.nginx.wait()

    def cpu_per_operation(self, load):
        """Seconds of all processes that take part."""
        def used():
            r = resource.getrusage(resource.RUSAGE_CHILDREN)
            return r.ru_utime + r.ru_stime + cpu_ns(self.nginx.pid) / 1e9

        before = used()
        operations = load(self)
        return (used() - before) / operations

    def fio(self):
        """Random reads and writes of 4 KiB that bypass the page cache."""
        out = output(*PIN, "fio", "--name=load", f"--filename={self.tmp}/fio", "--size=64M", "--rw=randrw", "--bs=4k", "--direct=1",
                     "--ioengine=libaio", "--iodepth=8", "--time_based", f"--runtime={SECONDS}", "--output-format=json")
        job = json.loads(out[out.index("{"):])["jobs"][0]
        return job["read"]["total_ios"] + job["write"]["total_ios"]

    def wrk(self, *headers):
        """Requests of 4 KiB to nginx."""
        out = output(*PIN, "wrk", "-t1", "-c16", f"-d{SECONDS}s", *headers, "http://%s:%d/" % self.address)
        return int(re.search(r"(\d+) requests in", out)[1])

    def wrk_connections(self):
        """One connection per request."""
        return self.wrk("-H", "Connection: close")

    def python3(self):
        """Builds and drops millions of objects."""
        return int(output(*PIN, "/usr/bin/python3", "-c", CHURN % SECONDS))

    def sh(self):
        """Starts programs one after the other."""
        output(*PIN, "sh", "-c", "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done")
        return 1000

    def spans_server(self):
        """Spans of requests that wait 2 ms each, 16 at a time."""
        output(*PIN, SPANS, 1000, 16)
        return 1000


LOADS = {
    "fio": Loads.fio,
    "wrk": Loads.wrk,
    "wrk, a connection each": Loads.wrk_connections,
    "python3": Loads.python3,
    "sh": Loads.sh,
    "spans_server": Loads.spans_server,
}

# ---- measuring ---------------------------------------------------------------------------------------------------


def sources(wanted):
    """The -p arguments: each source that this machine has, plus a variant with user stacks if they are not the default."""
    found = []
    for usage, help_, here in re.findall(r"^(\S+) +(.+)\n +rows: .*\n +here: (\w+)", output(COLLECTOR, "--list"), re.M):
        name = usage.partition("[")[0]
        path = f":{SPANS}" if usage.endswith(":PATH") else ""
        if here != "yes" or (wanted and name not in wanted):
            continue
        found.append(name + path)
        if "default n" in help_:
            found.append(f"{name}:u{path}")
    return found


class Cost:
    """For one source: the slowdown of each load, and the cost of its events under the load that produced the most."""

    def __init__(self, source):
        self.source = source
        self.slowdown = {}
        self.load = self.run = None

    def add(self, load, run, slowdown):
        self.slowdown[load] = slowdown
        if not self.run or run.events > self.run.events:
            self.load, self.run = load, run

    def cells(self):
        r, few = self.run, self.run.events < FEW
        per_event = [f"{r.bpf_ns / r.events:.0f} ns", f"{1e6 * r.cpu_used / r.events:.1f} s", f"{r.size / r.events:.1f}"]
        return [self.source.replace(str(SPANS), SPANS.name), *(["–"] * 3 if few else per_event),
                f"{r.lost} of {r.events + r.lost} ({self.load})", *(f"{self.slowdown[name]:.2f}" for name in LOADS)]


costs = []


def measure(tmp, wanted=None):
    loads = Loads(tmp)
    measured = [Cost(source) for source in sources(wanted)]
    with loads.server():
        for name, load in LOADS.items():
            before = loads.cpu_per_operation(load)
            for i, cost in enumerate(measured):
                say(f"{name} with {cost.source}")
                run = Run(tmp / f"{name}-{i}", "-p", cost.source)
                recorded = loads.cpu_per_operation(load)
                run.stop()
                after = loads.cpu_per_operation(load)
                cost.add(name, run, 2 * recorded / (before + after))
                before = after
    costs.extend(measured)


def print_table():
    if not costs:
        return
    columns = ["source", "BPF per event", "collector's CPU per million events", "bytes per event", "lost events", *LOADS]
    print("\nWhat a source costs, under the load that makes the most of its events, and how much more CPU time each load takes with it:")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for cost in costs:
        print(f"| {' | '.join(cost.cells())} |")
