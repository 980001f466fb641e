# SPDX-License-Identifier: GPL-2.0-or-later
"""A real recording as a timeline and as tables of its spans, compared with the output of the program itself."""
import subprocess

import pytest

from conftest import EXAMPLES, EXPORT, needs_bpf
from traces import Trace

pytestmark = needs_bpf
TASKS, STEPS = 20, 5


@pytest.fixture
def rec(record):
    """An event loop: its tasks are spans. It printed the number of steps and the seconds inside them."""
    program = EXAMPLES / "spans_async"
    r = record("-p", f"profile:uk,switch:uk,exec:u,usdt:u:{program}", "--", program, TASKS, STEPS)
    words = r.stdout.split()
    return r, int(words[2]), float(words[4])


def export(*args):
    p = subprocess.run([EXPORT, *map(str, args)], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    return p.stdout


def test_one_trace_has_threads_and_spans(rec, tmp_path):
    r, steps, seconds = rec
    export("trace", "switch_with_stacks.sql", "usdt_all.sql", "exec_all.sql", "-r", r.path, "--output", tmp_path / "t.json")
    t = Trace(tmp_path / "t.json")
    t.check_perfetto(tmp_path / "t.json")
    spans = [e for e in t.complete if e["name"] == "step"]
    assert len(spans) == steps == len([e for e in t.complete if e["name"] == "task"])
    assert seconds <= sum(e["dur"] for e in spans) / 1e6, "what the program measures lies inside of its spans"
    assert len([e for e in t.instants if e["name"] == "close task"]) == TASKS
    assert all(e["args"]["end_stack"][-1] == "_start" for e in spans)
    threads = {e["args"]["end_stack"][0] for e in t.complete if e["name"] == "on CPU" and "end_stack" in e["args"]}
    assert threads, "slices have the stacks that they ended with"


def test_the_time_of_spans_adds_up(rec):
    r, steps, seconds = rec
    rows = export("query", "-f", "span_breakdown.sql", "-r", r.path, "--format", "csv").splitlines()[1:]
    times = {}
    for row in rows:
        span, what, spent, _, count, _ = row.split(",", 5)
        times.setdefault((span, what), []).append((float(spent), int(count)))
    def total(span, *whats):
        return sum(s for what in whats for s, _ in times.get((span, what), []))

    def recorded(kind, span):
        return r.one("SELECT sum(duration) / 1e9 FROM events WHERE kind = ? AND trace_name = ?", kind, span)

    rounding = 0.001 * len(rows)
    assert sum(count for _, count in times["step", "running"]) == steps
    for span in ("step", "task"):
        entered = recorded("trace_exit", span)
        assert total(span, "running", "runnable", "blocked") == pytest.approx(entered, abs=rounding)
        assert total(span, "waiting") == pytest.approx(recorded("trace_close", span) - entered, abs=rounding)
    assert total("step", "running", "runnable", "blocked") >= seconds - rounding
