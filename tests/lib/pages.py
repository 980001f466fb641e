# SPDX-License-Identifier: GPL-2.0-or-later
"""A server of web/ with fixed answers, so that tests of the page choose every name and number in it.

It sends the same headers as `stacksexport view`. tests/web/test_view.py drives the real server."""

import http.server
import json
import math
import pathlib
import threading
import urllib.parse

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
SECOND = 1_000_000_000
HOSTILE = "<script>alert(1)</script>\"'&;\n\u202eevil\u0000"
STACKS = [  # root first, milliseconds of CPU time, blocked
    (("main", "handle", "parse"), 3000, 0),
    (("main", "handle", "query", "sort"), 5000, 500),
    (("main", "handle", "query", "read"), 1000, 2000),
    (("main", "idle"), 0, 6000),
    (("main", HOSTILE), 1000, 0),
]
MODULES = {"main": "/usr/bin/shop", "read": "[kernel]", "sort": "/usr/lib/libsqlite3.so.0"}
KINDS = {"read": 1, "handle": 4}
METRICS = [
    dict(id="cpu", label="CPU time", unit="ns"),
    dict(id="offcpu", label="Off-CPU time", unit="ns"),
    dict(id="wall", label="Wall clock", unit="ns"),
]


class Tree:
    """Nodes of a flame answer, made of stacks."""

    def __init__(self, unit="ns", states=None):
        self.names, self.modules, self.keys = {"": 0}, {"": 0}, {}
        self.nodes = dict(name=[0], module=[0], parent=[-1], self=[0], total=[0], kind=[3], state=[None] if states else None)
        self.unit, self.states = unit, states

    def child(self, parent, name, module="", kind=0, state=None):
        key = (parent, name, module)
        if key not in self.keys:
            self.keys[key] = len(self.nodes["name"])
            values = (
                self.names.setdefault(name, len(self.names)),
                self.modules.setdefault(module, len(self.modules)),
                parent,
                0,
                0,
                kind,
            )
            for column, value in zip(("name", "module", "parent", "self", "total", "kind"), values):
                self.nodes[column].append(value)
            if self.states:
                self.nodes["state"].append(state)
        return self.keys[key]

    def add(self, stack, value, state=None):
        at = 0
        self.nodes["total"][0] += value
        for name in stack:
            at = self.child(at, name, MODULES.get(name, "/usr/bin/shop"), KINDS.get(name, 0))
            self.nodes["total"][at] += value
        if state is not None:
            at = self.child(at, self.states[state], "", 3, state)
            self.nodes["total"][at] += value
        self.nodes["self"][at] += value

    def answer(self):
        return dict(
            unit=self.unit,
            total=self.nodes["total"][0],
            states=self.states,
            names=list(self.names),
            modules=list(self.modules),
            nodes=self.nodes,
            dropped=dict(nodes=0, value=0),
        )


def samples(metric, q):
    """(stack, value, state) of what is selected: half of all, where a range is."""
    part = (int(q.get("to", 10 * SECOND)) - int(q.get("from", 0))) / (10 * SECOND)
    for stack, cpu, blocked in STACKS:
        if metric != "offcpu" and cpu:
            yield stack, cpu * 1e6 * part, 0
        if metric != "cpu" and blocked:
            yield stack, blocked * 1e6 * part, 1


class Answers:
    """One method per path below api/. Tests replace what they want to be different."""

    def recording(self, q):
        return dict(
            path="/var/lib/stacks/7",
            host="here",
            other=False,
            t0_ns="1700000000000000000",
            after_ns=0,
            duration_ns=10 * SECOND,
            live=False,
            stacks=5,
            version="0",
            kinds=[
                dict(kind="profile", rows=1000, weight=1000, duration=0, amount=0),
                dict(kind="switch", rows=500, weight=500, duration=0, amount=0),
            ],
            lost=[dict(kind="switch", reason="ring_full", events=7)],
            unwind=[dict(how="root", rows=990), dict(how="truncated", rows=10)],
            processes=[
                dict(command="shop", tgid=100, cpu_ns=9 * SECOND, offcpu_ns=8 * SECOND, rows=1400),
                dict(command=HOSTILE, tgid=101, cpu_ns=SECOND, offcpu_ns=0, rows=100),
            ],
            spans=[dict(name="GET /report", count=40, p50=20e6, p95=80e6, p99=95e6, max=100e6)],
            metrics=METRICS,
        )

    def timeline(self, q):
        wave = [1 + math.sin(i / 20) for i in range(int(q["buckets"]))]
        lanes = [
            ("cpu", None, "CPU", "cores"),
            ("cpu/shop", "cpu", "shop", "cores"),
            (f"cpu/{HOSTILE}", "cpu", HOSTILE, "cores"),
            ("offcpu/blocked", None, "Blocked", "threads"),
            ("rss", None, "Memory", "bytes"),
        ]
        lanes += [("cpu/shop/100", "cpu/shop", "shop (100)", "cores")] if "cpu/shop" in q.get("expand", "") else []
        return dict(
            bucket_ns=10 * SECOND / len(wave),
            lanes=[dict(id=i, parent=p, label=label, unit=unit, kind="area", values=wave) for i, p, label, unit in lanes],
        )

    def heatmap(self, q):
        return dict(column_ns=SECOND, rows=50, row_ns=SECOND // 50, columns=10, values=[i % 7 for i in range(500)], max=6)

    def flame(self, q):
        tree = Tree(states=["cpu", "blocked", "runnable"] if q["metric"] == "wall" else None)
        for stack, value, state in samples(q["metric"], q):
            if "kernel" in q.get("hide", ""):
                stack = [name for name in stack if KINDS.get(name) != 1]
            tree.add((("shop",) if q.get("root") == "process" else ()) + tuple(stack), value, state if tree.states else None)
        return tree.answer()

    def functions(self, q):
        rows, total = {}, 0
        for stack, value, _ in samples(q["metric"], q):
            total += value
            for name in set(stack):
                row = rows.setdefault(
                    name, dict(name=name, module=MODULES.get(name, "/usr/bin/shop"), self=0, total=0, samples=0)
                )
                row["total"], row["samples"], row["self"] = (
                    row["total"] + value,
                    row["samples"] + 1,
                    row["self"] + value * (stack[-1] == name),
                )
        return dict(unit="ns", total=total, rows=sorted(rows.values(), key=lambda row: -row[q.get("sort", "self")]))

    def sandwich(self, q):
        callers, callees = Tree(), Tree()
        for stack, value, _ in samples(q["metric"], q):
            if q["name"] in stack:
                at = stack.index(q["name"])
                callers.add(stack[at::-1], value)
                callees.add(stack[at:], value)
        return dict(callers=callers.answer(), callees=callees.answer())

    def waits(self, q):
        return dict(
            rows=[
                dict(command="shop", state="sleeping", where="idle", caller="main", count=3, sum=6e9, p50=2e9, p99=2e9, max=2e9, stack="a1"),
                dict(command=HOSTILE, state="disk_sleep", where=HOSTILE, caller=HOSTILE, count=9, sum=2e9, p50=1e8, p99=4e8, max=4e8, stack="a2"),
            ]
        )

    def wakers(self, q):
        return dict(
            rows=[
                dict(
                    sleeper="shop",
                    waker="client",
                    sleep_where="idle",
                    sleep_caller="take_order",
                    waker_where="send",
                    waker_caller="",
                    sleep_stack="a1",
                    waker_stack="a2",
                    count=3,
                    sum=6e9,
                )
            ]
        )

    def stack(self, q):
        return dict(
            frames=[
                dict(name=name, module="/usr/bin/shop", offset=1, file_offset=1, address=1, kind=0)
                for name in ("idle", HOSTILE, "main")
            ]
        )

    def spans(self, q):
        edges = [10e6 * 1.1**i for i in range(31)]
        slow = [
            dict(
                id=f"{i:x}",
                name="GET /report",
                thread="shop",
                pid=100 + i,
                start=i * 1e9,
                duration=(100 - i) * 1e6,
                oncpu=60e6,
                waits=[dict(start=i * 1e9 + 10e6, duration=20e6, state="blocked", stack="a1")],
            )
            for i in range(5)
        ]
        return dict(
            names=[
                dict(
                    name="GET /report",
                    count=40,
                    p50=20e6,
                    p95=80e6,
                    p99=95e6,
                    max=100e6,
                    histogram=dict(edges=edges, counts=[i % 5 for i in range(30)]),
                )
            ],
            slowest=slow,
        )

    def diff(self, q):
        if q.get("normalise") == "spans" and q.get("ato") == str(2 * SECOND):
            raise ValueError("no span ends in one of the two sides")
        tree = Tree()
        for stack, cpu, _ in STACKS:
            tree.add(stack, cpu * 1e6)
        answer = tree.answer()
        a = answer["nodes"]["total"]
        more = [i for i, name in enumerate(answer["nodes"]["name"]) if answer["names"][name] in ("sort", "query")]
        b = [value + (5e9 if i in more else 0) for i, value in enumerate(a)]
        answer["nodes"].update(
            a=a,
            b=b,
            p=[0.0001 if i in more else 0.7 for i in range(len(a))],
            lo=[y - x - 1e8 for x, y in zip(a, b)],
            hi=[y - x + 1e8 for x, y in zip(a, b)],
            significant=[int(i in more) for i in range(len(a))],
        )
        return answer

    def changes(self, q):
        def row(name, a, b):
            return dict(name=name, module=MODULES.get(name, "/usr/bin/shop"), a=a, b=b, lo=b - a - 1e8, hi=b - a + 1e8, p=0.0001)

        return dict(unit="ns", self=[row("query", 3e9, 2e9), row("sort", 1e9, 6e9)], total=[row("main", 0, 4e9)])

    def queries(self, q):
        return dict(
            queries=[
                dict(
                    name="tables/slow",
                    head="What is slow?\n    stacksexport query -f slow\nA row per function.",
                    parameters=["command", "buildid"],
                )
            ]
        )

    def query(self, q):
        return dict(sql="SELECT 1 AS slow", head="What is slow?")

    def sql(self, body):
        if "wrong" in body["sql"]:
            raise ValueError('Parser Error: syntax error at or near "wrong"')
        if "ticks" in body["sql"]:
            return dict(
                columns=[dict(name="second", type="BIGINT"), dict(name="n", type="BIGINT")],
                rows=[[i, i * i] for i in range(20)],
                truncated=False,
                ms=1,
            )
        return dict(
            columns=[dict(name="stack", type="VARCHAR[]"), dict(name="n", type="BIGINT"), dict(name="note", type="VARCHAR")],
            rows=[[["parse", "main"], 30, HOSTILE], [["sort", "query", "main"], 70, None]],
            truncated=False,
            ms=3,
        )

    def source(self, q):
        return dict(
            kind="source",
            file="/src/shop.c",
            note="",
            lines=[dict(n=i, text=f"\tcall({i}); // {HOSTILE}", self=i * 1e6, total=i * 2e6) for i in range(1, 20)],
        )

    def progress(self, q):
        return dict(busy=[dict(what="pairing intervals off the CPU", fraction=0.4, ms=900)])

    def cancel(self, body):
        return {}


class Server:
    """`answers` may be replaced per test; `asked` is every request for data, as (name, parameters)."""

    def __init__(self):
        self.answers, self.asked = Answers(), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.handle(self, None)

            def do_POST(self):
                outer.handle(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/token/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def handle(self, request, body):
        url = urllib.parse.urlsplit(request.path)
        name = url.path.removeprefix("/token/") or "index.html"
        if name.startswith("api/"):
            return self.answer(request, name[4:], body if body is not None else dict(urllib.parse.parse_qsl(url.query)))
        file = WEB / name
        if not file.resolve().is_relative_to(WEB) or not file.is_file():
            return self.send(request, 404, "application/json", b'{"error": "no such file"}')
        self.send(request, 200, TYPES.get(file.suffix, "text/plain"), file.read_bytes(), {"Cache-Control": "max-age=600"})

    def answer(self, request, name, parameters):
        self.asked.append((name, parameters))
        try:
            status, answer = 200, getattr(self.answers, name)(parameters)
        except ValueError as error:
            status, answer = 400, dict(error=str(error))
        self.send(request, status, "application/json", json.dumps(answer).encode())

    def send(self, request, status, kind, content, more={}):
        try:
            request.send_response(status)
            for header, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(content))),
                ("Content-Security-Policy", CSP),
                ("X-Content-Type-Options", "nosniff"),
                *more.items(),
            ):
                request.send_header(header, value)
            request.end_headers()
            request.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the page does not want it any more
