# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript without flags: interpreted, baseline, optimised and inlined functions, with lines, between native frames."""
import json
import os
import shutil

import pytest

from conftest import needs_bpf, wait_for

pytestmark = [needs_bpf, pytest.mark.skipif(not shutil.which("node"), reason="no node (Debian: nodejs)")]


def nodes():
    """That of this system, and those that STACKS_NODES names: paths, separated by colons."""
    return ["node"] + [n for n in os.environ.get("STACKS_NODES", "").split(":") if n]


every_node = pytest.mark.parametrize("node", nodes(), ids=lambda n: n if n == "node" else n.strip("/").replace("/", "_"))

WORK = """'use strict';
const fs = require('fs');
class Work {
  leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) ^ i; return s; }
  recurse(d) {
    if (d === 0) return this.leaf(2000);
    return this.recurse(d - 1) + 1;
  }
  callbacks() {
    const w = this;
    return [3, 1, 2].map(function mapped(x) { return w.recurse(x); })
      .sort(function compared(a, b) { w.leaf(500); return a - b; }).length;
  }
}
function* generate(w) {
  for (let i = 0; i < 3; i++)
    yield w.leaf(500 + i);
}
function drive(w) {
  for (const v of generate(w)) if (!v) return 0;
  return w.callbacks();
}
async function later(w) {
  await null;
  return drive(w);
}
function small(a) { return Math.imul(a, 3) + 1; }
function hot(n) {
  let s = 0;
  for (let i = 0; i < n; i++)
    s = s ^ small(i);
  return s;
}
function sync() {
  return fs.readFileSync(__filename, 'utf8').length;
}
async function main(milliseconds) {
  const w = new Work();
  while (process.cpuUsage().user < 1000 * milliseconds) {
    await later(w);
    hot(30000);
    sync();
  }
  setTimeout(() => {}, 700); // the functions are read while the program runs
}
main(Number(process.argv[2]));
"""

# Which functions call each one, and the text of the call.
CALLS = {
    "leaf": [("recurse", "return this.leaf"), ("compared", "w.leaf(500); return"), ("generate", "yield w.leaf")],
    "recurse": [("recurse", "return this.recurse"), ("mapped", "return w.recurse")],
    "mapped": [("callbacks", ".map(function")],
    "compared": [("callbacks", ".sort(function")],
    "callbacks": [("drive", "w.callbacks()")],
    "generate": [("drive", "of generate(w)")],
    "drive": [("later", "return drive(w)")],
    "later": [("main", "await later(w)")],
    "small": [("hot", "small(i)")],
    "hot": [("main", "hot(30000)")],
    "sync": [("main", "sync();")],
}
CALLERS = {callee: {(name, 1 + WORK[:WORK.index(text)].count("\n")) for name, text in calls} for callee, calls in CALLS.items()}


def is_script(f):
    return (f["mark"] or "").startswith("javascript")


def frames(r, where):
    """[(frames leaf first, end of the walk, row count)]"""
    return r.rows(f"SELECT ustack, unwind, count(*) FROM stacks WHERE ustack_id IS NOT NULL AND {where} GROUP BY ALL")


def functions(stack, file):
    """[(name, line, mark)] of a script's functions; without a name where one is unknown."""
    unknown = ("Builtins_InterpreterEntryTrampoline", None)
    return [(f["name"] if is_script(f) else None, f["line"], f["mark"]) for f in stack
            if f["name"] in unknown or (is_script(f) and f["module"].endswith(file))]


def check_calls(stack):
    """Each function of the program was called by one that calls it. The line is exact but where V8 optimised the caller: its
    compiler moves calls."""
    own = functions(stack, "/work.js")
    for (callee, _, _), (caller, line, mark) in zip(own, own[1:]):
        if callee not in CALLERS or not caller:
            continue
        exact = mark in ("javascript_interpreted", "javascript_baseline")
        assert any(caller == name and (line == at or not exact) for name, at in CALLERS[callee]), (callee, caller, line, own)


@every_node
@pytest.mark.parametrize("options", [[], ["--no-opt", "--no-sparkplug"], ["--always-sparkplug", "--no-opt"]], ids=["plain", "interpreted", "baseline"])
def test_a_busy_program_has_whole_stacks_in_the_right_order(record, tmp_path, node, options):
    script = tmp_path / "work.js"
    script.write_text(WORK)
    tmp_path.chmod(0o755)
    r = record("-p", "profile:u:997", "--", node, *options, script, "500")
    cnt = whole = gone = 0
    marks = set()
    for stack, status, n in frames(r, "kind = 'profile' AND tgid = pid"):
        if not any(f["name"] == "v8::internal::(anonymous namespace)::Invoke" or is_script(f) for f in stack):
            continue
        check_calls(stack)
        cnt += n
        whole += n * (status == "root" and stack[-1]["name"] == "_start")
        gone += n * any(f["mark"] == "javascript_gone" for f in stack)
        marks |= {f["mark"] for f in stack}
    assert cnt > 100
    assert whole >= 0.99 * cnt, (cnt, whole)
    # Young functions move, and a busy machine reads them late: 5 to 10 % of so short a program, 42 % seen.
    assert gone <= 0.6 * cnt, (cnt, gone)
    assert "interpreter" in marks
    assert {"--no-sparkplug": "javascript_interpreted", "--no-opt": "javascript_baseline"}.get(options[-1] if options else "", "javascript_inlined") in marks


WAITS = """'use strict';
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
const fs = require('fs');
Error.stackTraceLimit = Infinity;
function stop() {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (e, sites) => sites.map((s) => [s.getFunctionName(), s.getFileName(), s.getLineNumber()]);
  const sites = new Error().stack;
  Error.prepareStackTrace = before;
  fs.writeFileSync(workerData.said, JSON.stringify(sites) + '\\n', { flag: 'a' });
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
function deep(n, f) {
  if (n === 0) return f();
  return deep(n - 1, f) + 1;
}
class Shape {
  get area() { return stop(); }
  static make(f) { return new Shape(f); }
  constructor(f) { if (f) f(); }
  toJSON() { stop(); return 1; }
}
function* yields() {
  yield 1;
  stop();
}
function inner(i, f) { return i === 19999 ? f() : i & 3; }
function outer(i, f) {
  return inner(i, f) + 1;
}
const ways = [
  function plain() { stop(); },
  function recursion() { deep(1000, stop); },
  function maps() { [1].map((x) => stop()); },
  function sorts() { [2, 1].sort(function compare() { stop(); }); },
  function loops() { [1].forEach(() => { deep(3, stop); }); },
  function replaces() { 'abc'.replace(/b/, () => stop()); },
  function getter() { return new Shape().area; },
  function constructs() { Shape.make(() => stop()); },
  function stringifies() { JSON.stringify({ a: new Shape() }); },
  function applies() { Reflect.apply(deep, null, [2, stop]); },
  function binds() { deep.bind(null, 1, stop)(); },
  function generates() { for (const x of yields()) if (!x) return; },
  function proxies() { new Proxy({}, { get() { stop(); } }).x; },
  function throws() { try { null.x; } catch { stop(); } finally { stop(); } },
  function optimises() { let s = 0; for (let i = 0; i < 20000; i++) s += outer(i, stop); return s; },
  function evaluates() { return new Function('f', 'return f()')(stop); },
  function reduces() { return Object.entries({ a: 1 }).reduce((a, [k, v]) => a + stop(), 0); },
  async function awaits() { await null; stop(); },
  function microtask() { return Promise.resolve(1).then(function resolved() { deep(2, stop); }); },
];
if (isMainThread) {
  const said = process.argv[2];
  for (let i = 0; i < ways.length; i++) new Worker(__filename, { workerData: { said, i } });
  setInterval(() => {}, 1000);
} else {
  deep(100, () => 0);
  setTimeout(() => ways[workerData.i](), 50);
}
"""


@every_node
def test_stopped_threads_are_where_v8_says(start, spawn, tmp_path, node):
    said, script = tmp_path / "said", tmp_path / "waits.js"
    script.write_text(WAITS)
    cnt = WAITS[WAITS.index("const ways"):WAITS.index("if (isMainThread")].count("\n  ")
    program = spawn(node, script, said)
    wait_for(lambda: said.exists() and said.read_text().count("\n") == cnt, seconds=30)
    expected = sorted([(name or "(anonymous)", line) for name, file, line in json.loads(text) if file == str(script)][1:]
                      for text in said.read_text().splitlines())
    r = start("-p", "switch:u", "--pid", str(program.pid)).stop()
    found = [[(f["name"], f["line"]) for f in stack if is_script(f) and f["module"] == str(script)]
             for stack, _, _ in frames(r, "kind = 'switch' AND tgid <> pid")]
    found = [stack[1:] for stack in found if stack and stack[0][0] == "stop"]
    differing = [[(a, b) for a, b in zip(at + [None] * 9, (found and min(found, key=lambda s: s != at)) + [None] * 9) if a != b][:5]
                 for at in expected if at not in found]
    assert len(found) == cnt
    assert not differing, json.dumps([e for e in expected if e not in found], indent=1)[:2000] + json.dumps([f for f in found if f not in expected])[:2000]
