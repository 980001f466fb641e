# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe usdt: spans as the programs have them, in whatever order they enter, leave and close them."""
import bisect
import os
import pathlib
import random
import subprocess
import sys

import pytest

from conftest import BUILD, EXAMPLES, ROOT, needs_bpf

pytestmark = needs_bpf

SCRIPT = BUILD / "tests" / "spans_script"
DEPTH_MAX = 32  # of a thread
SPANS_MAX = 16384  # open spans of a process that shares its region with no other
ROWS = """SELECT kind, pid, span_id, parent_id, id, amount, trace_name, duration, timestamp, ustack_id IS NOT NULL
FROM events WHERE kind LIKE 'trace_%' ORDER BY timestamp"""


# ---- random programs against a model ----------------------------------------------------------------------------------


class Thread:
    def __init__(self):
        self.stack, self.deeper, self.known = [], 0, False

    def find(self, span):
        return max((i for i, s in enumerate(self.stack) if s["span"] == span), default=None)

    def pop_to(self, i):
        del self.stack[i:]
        self.deeper = 0


class Model:
    """The rules for spans in README.md, as a model in Python."""

    def __init__(self):
        self.threads, self.spans, self.rows, self.unmatched, self.full = {}, {}, [], 0, 0

    def row(self, kind, op, s, start):
        self.rows.append((kind, op, s, start))

    def do(self, op):
        t = self.threads.setdefault(op["thread"], Thread())
        getattr(self, op["verb"].replace("exit_stack", "exit"))(t, op)
        return t.stack[-1]["span"] if t.stack else 0

    def enter(self, t, op):
        t.known = True
        if len(t.stack) < DEPTH_MAX:
            t.stack.append(op)
        else:
            t.deeper += 1
            self.full += 1
        first = self.spans.setdefault(op["span"], dict(op, start=op))
        first.update(id=op["id"], amount=op["amount"])

    def exit(self, t, op):
        i = t.find(op["span"])
        if i is not None:
            self.row("trace_exit", op, t.stack[i], t.stack[i])
            t.pop_to(i)
        elif t.deeper:
            t.deeper -= 1
        elif t.known:
            self.unmatched += 1

    def close(self, t, op):
        s = self.spans.pop(op["span"], None)
        if s:
            self.row("trace_close", op, s, s["start"])
        i = t.find(op["span"])
        if i is not None:
            t.pop_to(i)

    def end(self, t, op):
        del self.threads[op["thread"]]


def random_ops(r, cnt, enters):
    """Threads that mostly nest their spans. `enters` is their preference for going deeper."""
    stacks, ops = {}, []
    names = [b"a", b"fifteen bytes..", b"sixteen bytes...", b"seventeen bytes..", "cut in umlaut: ä".encode(), b"no\xffutf\xc3", "ümläut".encode()]
    for _ in range(cnt):
        thread, span = r.randrange(4), r.randrange(1, 12) << r.choice([0, 0, 60])
        stack = stacks.setdefault(thread, [])
        verb = r.choices(["enter", "exit", "exit_stack", "close", "end"], [enters, 4, 1, 2, 0.1])[0]
        op = {"thread": thread, "verb": verb, "span": span}
        if verb == "enter":
            op |= {"parent": r.randrange(3), "id": r.randrange(1 << 64), "amount": r.randrange(1 << 63), "name": r.choice(names)}
            stack.append(span)
        elif verb.startswith("exit") and stack and r.random() < 0.8:
            op["span"] = stack.pop()
        elif verb == "end":
            stacks[thread] = []
        ops.append(op)
    return ops


def line(op):
    words = [op["thread"], op["verb"]] + ([] if op["verb"] == "end" else [op["span"]])
    words += [op["parent"], op["id"], op["amount"]] if op["verb"] == "enter" else []
    return " ".join(map(str, words)).encode() + b" " + op.get("name", b"") + b"\n"


def run_script(record, tmp_path, lines, *options):
    script = tmp_path / "script"
    script.write_bytes(b"".join(lines))
    with script.open("rb") as stdin:
        r = record(*options, "--", SCRIPT, stdin=stdin)
    return r, [tuple(map(int, answer.split())) for answer in r.stdout.splitlines()]


@pytest.mark.parametrize("seed, enters, user", [(1, 5, False), (2, 5, True), (3, 30, False)])
def test_rows_are_those_of_a_model(record, tmp_path, seed, enters, user):
    ops = random_ops(random.Random(seed), 1500, enters)
    r, answers = run_script(
        record, tmp_path, map(line, ops), "-p", f"switch:n,usdt:{'u' if user else 'n'}:{SCRIPT}"
    )
    assert len(answers) == len(ops)
    model = Model()
    for op, (tid, before, after) in zip(ops, answers):
        op |= {"tid": tid, "before": before, "after": after}
        op["innermost"] = model.do(op)

    rows = r.rows(ROWS)
    assert len(rows) == len(model.rows)
    low, high = -(1 << 63), 1 << 63  # Unix time minus CLOCK_MONOTONIC
    for row, (kind, op, s, start) in zip(rows, model.rows):
        expected = (kind, op["tid"], s["span"], s["parent"], s["id"], s["amount"], s["name"][:16].decode(errors="replace"))
        assert row[:7] == expected
        assert op["before"] - start["after"] <= row[7] <= op["after"] - start["before"]
        assert row[9] == (user or op["verb"] == "exit_stack")
        low, high = max(low, row[8] - op["after"]), min(high, row[8] - op["before"])
    assert low <= high

    lost = dict(r.rows("SELECT reason, sum(amount)::BIGINT FROM events WHERE kind = 'lost' AND lost_kind = 'usdt' GROUP BY ALL"))
    assert lost == {k: v for k, v in (("unmatched", model.unmatched), ("state_full", model.full)) if v}
    assert ("state_full" in r.stderr) == (model.full > 0)

    # All other events of a thread carry the innermost span: here, the wait for the next order.
    seen = 0
    for tid in {op["tid"] for op in ops}:
        mine = [op for op in ops if op["tid"] == tid]
        times = [op["after"] for op in mine]
        for at, span in r.rows("SELECT timestamp, span_id FROM events WHERE kind = 'switch' AND pid = ?", tid):
            i = bisect.bisect_right(times, at - high) - 1
            if i >= 0 and mine[i]["verb"] != "end" and (i + 1 == len(mine) or at - low < mine[i + 1]["before"]):
                assert span == mine[i]["innermost"], mine[i]
                seen += 1
    assert seen > len(ops) / 2


# ---- real programs ----------------------------------------------------------------------------------------------------


def words(text):
    return [line.split() for line in text.splitlines()]


def spans_of(r, command, name):
    """{kind: (rows, spans, sum of ids, amount, seconds)}"""
    return {
        row[0]: row[1:]
        for row in r.rows(
            "SELECT kind, count(*), count(DISTINCT span_id), sum(id)::BIGINT, sum(amount)::BIGINT, sum(duration) / 1e9 FROM events "
            "WHERE kind LIKE 'trace_%' AND command = ? AND trace_name = ? GROUP BY ALL", command, name
        )
    }


def test_programs_of_three_languages_in_one_recording(start, spawn):
    """The programs run before the recording starts, or start during it. A library is loaded by any program."""
    python = [sys.executable, ROOT / "examples/spans.py", 40, 3, EXAMPLES / "libspans.so"]
    early = spawn(sys.executable, "-c", EARLY, EXAMPLES / "libspans.so", stdin=subprocess.PIPE)
    assert early.stdout.readline() == "loaded\n"
    paths = [EXAMPLES / "spans_server", EXAMPLES / "spans_async", EXAMPLES / "libspans.so"]
    python_comm = pathlib.Path(sys.executable).name
    c = start("-p", "profile:u:499," + ",".join(f"usdt:{s}:{path}" for s, path in zip(("u", "uk", "n"), paths)), "--ring-size", "64M",
              "spans_server", "spans_async", python_comm)
    programs = [spawn(EXAMPLES / "spans_server", 30, 3), spawn(EXAMPLES / "spans_async", 7, 11), spawn(*python)]
    early.stdin.write("go\n")
    early.stdin.flush()
    early_said = early.stdout.read()
    said = [words(p.stdout.read()) for p in programs]
    r = c.stop()
    assert r.returncode == 0 and r.rows("SELECT lost_kind, reason, sum(amount) FROM events WHERE kind = 'lost' GROUP BY ALL") == []

    for command, output in (("spans_server", said[0]), (python_comm, said[2])):
        for name, count, amount, seconds in output:
            ids = 0 if name == "rest" else int(count) * (int(count) + 1) // 2
            kinds = spans_of(r, command, name)
            assert kinds.keys() == {"trace_exit", "trace_close"}
            for rows, spans, id_sum, amounts, took in kinds.values():
                assert (rows, spans, id_sum, amounts) == (int(count), int(count), ids, int(amount)), name
                assert took >= float(seconds), name  # by its own clock, inside the span
    tasks, steps, seconds = int(said[1][0][0]), int(said[1][0][2]), float(said[1][0][4])
    step, task = spans_of(r, "spans_async", "step"), spans_of(r, "spans_async", "task")
    assert step.keys() == task.keys() == {"trace_exit", "trace_close"}
    assert step["trace_exit"][:2] == step["trace_close"][:2] == (steps, steps)
    assert seconds <= step["trace_exit"][4] <= task["trace_exit"][4]
    assert task["trace_exit"][:4] == (steps, tasks, tasks * (tasks + 1) // 2 * 11, steps * 11)
    assert task["trace_close"][:4] == (tasks, tasks, tasks * (tasks + 1) // 2, tasks * 11)
    assert task["trace_close"][4] > 9 * tasks * 0.01  # from the first step, which may be late, to the last
    assert early_said == "done\n"
    assert r.rows("SELECT kind, id, amount, trace_name FROM events WHERE kind LIKE 'trace_%' AND tgid = ? ORDER BY timestamp",
                  early.pid) == [("trace_exit", 5, 6, "early"), ("trace_close", 5, 6, "early")]

    # Parents, stacks, and samples that carry the span in which they were taken.
    assert r.one(
        "SELECT count(*) FROM events c JOIN events p ON p.span_id = c.parent_id AND p.tgid = c.tgid AND p.pid = c.pid AND p.id = c.id "
        "WHERE c.kind = 'trace_close' AND p.kind = 'trace_close' AND p.trace_name = 'request' AND c.trace_name IN ('query', 'reply') "
        "AND p.timestamp - p.duration <= c.timestamp - c.duration AND c.timestamp <= p.timestamp"
    ) == 60
    for name, function in (("query", "query"), ("reply", "reply"), ("request", "answer"), ("step", "task__step"), ("task", "task__poll")):
        stacks = r.stacks(f"kind LIKE 'trace_%' AND trace_name = '{name}' AND kstack_id IS NULL")
        assert stacks and all(names[0] == function and status == "root" for names, _, status, _ in stacks), stacks
    assert r.one("SELECT count(*) FROM events WHERE ustack_id IS NOT NULL AND trace_name IN ('job', 'rest') AND kind LIKE 'trace_%'") == 0
    inside = r.stacks("kind = 'profile' AND command = 'spans_async' AND trace_name = 'step'")
    assert sum(n for *_, n in inside) > 5
    assert all("task__step" in names for names, *_ in inside)


EARLY = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
lib.spans_enter.argtypes = [ctypes.c_uint64] * 4 + [ctypes.c_char_p]
print("loaded", flush=True)
sys.stdin.readline()
if not lib.spans_listening():
    sys.exit("nobody listens")
lib.spans_enter(1 << 40, 0, 5, 6, b"early")
lib.spans_exit(ctypes.c_uint64(1 << 40))
lib.spans_close(ctypes.c_uint64(1 << 40))
print("done")
"""


EVERYTHING = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <stacks_tracing.h>
static void do_everything(const char *path)
{
	static char bytes[65536];
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	char *memory = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	clock_t end;
	pid_t pid;

	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || fsync(fd))
		exit(1);
	memset(memory, 1, 8 << 20);
	for (end = clock() + CLOCKS_PER_SEC / 20; clock() < end;)
		;
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	close(fd);
	munmap(memory, 8 << 20);
}
static void *run(void *path)
{
	do_everything(path);
	{
		STACKS_SPAN("everything", .id = 7);
		do_everything(path);
	}
	do_everything(path);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;

	pthread_create(&t, NULL, run, argv[1]);
	pthread_join(t, NULL);
	printf("%d", argc);
	return 0;
}
"""


def test_events_of_every_source_carry_the_span(record, tmp_path, compile_c):
    program = compile_c(EVERYTHING, f"-I{ROOT}/include", "-pthread", name="everything")
    r = record("-p", f"all,profile:n:999,rss:u:0,fault:n:0,usdt:n:{program}", "--", program, tmp_path / "file")
    begin, end, span, tgid = r.rows("SELECT timestamp - duration, timestamp, span_id, tgid FROM events WHERE kind = 'trace_exit'")[0]
    mine = f"tgid = {tgid} AND timestamp BETWEEN ? AND ? AND (tgid != pid OR kind = 'rss')"
    kinds = dict(r.rows(f"SELECT kind, count(*) FROM events WHERE {mine} AND kind NOT LIKE 'trace_%' GROUP BY ALL", begin, end))
    assert {"profile", "switch", "fork", "rss", "fault", "vfs_write"} <= kinds.keys(), kinds
    inside = dict(r.rows(f"SELECT kind, count(*) FROM events WHERE {mine} AND kind NOT LIKE 'trace_%' AND span_id = ? AND id = 7 "
                         "AND trace_name = 'everything' GROUP BY ALL", begin, end, span))
    assert inside == kinds
    assert r.one("SELECT count(*) FROM events WHERE span_id != 0 AND NOT (timestamp BETWEEN ? AND ?)", begin, end + 10**6) == 0
    grown = r.one("SELECT sum(g) FROM (SELECT span_id, amount - lag(amount) OVER (PARTITION BY tgid ORDER BY timestamp) AS g FROM events "
                  "WHERE kind = 'rss') WHERE g > 0 AND span_id = ?", span)
    assert 8 << 20 <= grown < 10 << 20


def test_samples_on_the_way_into_a_probe_are_walked(record):
    """From Linux 6.18 on, that is kernel code in the program."""
    r = record("-p", f"profile:u:9999,usdt:n:{EXAMPLES / 'spans_async'}", "--", EXAMPLES / "spans_async", 30, 100)
    assert r.one("SELECT count(*) FROM stacks WHERE list_contains(list_transform(ustack, lambda f: f.module), '[anon]')") == 0
    stacks = [(names, status) for names, modules, status, _ in r.stacks("kind = 'profile'") if modules[0] == "[uprobes]"]
    assert {status for _, status in stacks} <= {"root"}
    assert {names[1] for names, _ in stacks} <= {"task__poll", "task__step", "main"}
    if tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 18):
        assert stacks


def test_a_span_that_waits_forever_shows_up(record):
    r = record("-p", f"usdt:u:{EXAMPLES / 'deadlock'}", "--", EXAMPLES / "deadlock", 0.5)
    ticks = int(r.stdout.split()[0])
    assert ticks == 50
    # The last exit of each span that is followed by neither an enter nor a close.
    stuck = r.rows(
        "SELECT trace_name, id, max(timestamp), max_by(ustack, timestamp) FROM stacks WHERE kind LIKE 'trace_%' "
        "GROUP BY tgid, span_id, trace_name, id HAVING count_if(kind = 'trace_close') = 0 ORDER BY id"
    )
    assert [s[:2] for s in stuck] == [("transfer", 1), ("transfer", 2)]
    for _, _, last, stack in stuck:
        assert r.one("SELECT count(*) FROM events WHERE kind = 'trace_close' AND timestamp > ?", last) == ticks - 9
        assert [f["name"] for f in stack][:2] == ["poll_transfer", "main"]
    assert spans_of(r, "deadlock", "tick")["trace_close"][:3] == (50, 50, 50 * 51 // 2)
    assert spans_of(r, "deadlock", "transfer")["trace_exit"][:3] == (20, 2, 30)


# ---- ends and overflows ----------------------------------------------------------------------------------------------


class Script:
    """A program that executes span operations on command."""

    def __init__(self, spawn):
        self.proc = spawn(SCRIPT, stdin=subprocess.PIPE)
        self.pid = self.proc.pid

    def do(self, *lines):
        """The thread id in the last answer."""
        for text in lines:
            self.proc.stdin.write(text + "\n")
            self.proc.stdin.flush()
            tid = int(self.proc.stdout.readline().split()[0])
        return tid

    def end(self):
        self.proc.stdin.close()
        self.proc.stdin = None
        assert self.proc.wait(timeout=10) == 0


def test_a_flood_drops_only_its_own_oldest_spans(start, spawn):
    c = start("-p", f"usdt:n:{SCRIPT}", "--ring-size", "64M", "--max-rate", "100000000")
    victim, flooder = Script(spawn), Script(spawn)
    victim.do("0 enter 7 0 1 2 long", "0 exit 7")
    flooder.do("0 enter 8 0 3 4 first", f"0 flood 1000 {SPANS_MAX + 5000}")
    victim.do("0 close 7")
    flooder.do("0 exit 8", f"0 drain 1000 {SPANS_MAX + 5000}", "0 close 8", "0 flood 1000 100", "0 drain 1000 100")
    r = c.stop()
    assert r.stderr.count("too many concurrent operations") == 1
    mine = "SELECT kind, count(*), min(span_id)::BIGINT, max(span_id)::BIGINT FROM events WHERE tgid = ? GROUP BY ALL ORDER BY ALL"
    assert r.rows(mine, victim.pid) == [("trace_close", 1, 7, 7), ("trace_exit", 1, 7, 7)]
    assert dict(r.rows("SELECT reason, sum(amount)::BIGINT FROM events WHERE kind = 'lost' GROUP BY ALL")) == {"state_full": 5001}
    # The enclosing span of all this, and the oldest spans of the flood, have no close. Later events are as usual.
    assert r.rows("SELECT count(*), count(DISTINCT span_id), min(span_id)::BIGINT FROM events WHERE kind = 'trace_close' AND tgid = ? "
                  "AND span_id >= 1000", flooder.pid) == [(SPANS_MAX + 100, SPANS_MAX + 100, 1000)]
    assert r.one("SELECT count(*) FROM events WHERE kind = 'trace_exit' AND tgid = ?", flooder.pid) == SPANS_MAX + 5101
    assert r.rows("SELECT id, amount, trace_name FROM events WHERE kind = 'trace_exit' AND span_id = 8") == [(3, 4, "first")]


def test_processes_that_end_make_room(start, spawn):
    """There are eight regions for open spans. The second eight processes reuse those of the first eight."""
    c = start("-p", f"usdt:n:{SCRIPT}", "--ring-size", "64M")
    for _ in range(16):
        script = Script(spawn)
        script.do(f"0 flood 1 {SPANS_MAX // 2 + 500}", "0 close 1")
        script.end()
    r = c.stop()
    assert r.rows("SELECT kind, count(*) FROM events WHERE kind != 'trace_exit' GROUP BY ALL") == [("trace_close", 16)]


def test_threads_processes_and_programs_may_end_inside_spans(start, spawn):
    c = start("-p", f"exec:n,switch:n,usdt:n:{SCRIPT}")
    # Another thread closes the span of an ended thread. A new thread is in no span.
    script = Script(spawn)
    dead = script.do("1 enter 5 0 1 2 orphan", "1 end")
    new = script.do("1 enter 6 5 1 2 next", "1 exit 6")
    closer = script.do("2 close 5", "2 close 6", "2 exit 5")
    # A process that exits with open spans passes nothing on to other processes with the same ids.
    script.do("1 enter 7 0 1 2 left")
    script.end()
    other = Script(spawn)
    other.do("1 close 7", "1 enter 9 0 1 2 old")
    # This process as another program.
    other.do("1 exec", "1 exit 9", "1 close 9")
    other.do("0 enter 9 0 3 4 new", "0 exit 9", "0 close 9")
    other.end()
    r = c.stop()
    rows = r.rows("SELECT pid, kind, span_id, parent_id, id, trace_name FROM events WHERE kind LIKE 'trace_%' ORDER BY timestamp")
    assert rows[:3] == [(new, "trace_exit", 6, 5, 1, "next"), (closer, "trace_close", 5, 0, 1, "orphan"),
                        (closer, "trace_close", 6, 5, 1, "next")]
    assert [row[1:] for row in rows[3:]] == [("trace_exit", 9, 0, 3, "new"), ("trace_close", 9, 0, 3, "new")]
    assert r.rows("SELECT DISTINCT span_id FROM events WHERE kind = 'switch' AND pid = ? AND span_id != 0", dead) == [(5,)]
    execs = "(SELECT max(timestamp) FROM events WHERE kind = 'exec' AND tgid = e.tgid)"
    assert r.one(f"SELECT max(span_id) FROM events e WHERE kind = 'switch' AND tgid = ? AND pid = tgid AND timestamp > {execs}", other.pid) == 0
    assert r.one("SELECT count(*) FROM events WHERE kind = 'lost'") == 0
