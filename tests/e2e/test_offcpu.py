# SPDX-License-Identifier: GPL-2.0-or-later
"""Off-CPU time is exact per thread over the whole recording."""
import pathlib
import time

from conftest import EXAMPLES, needs_bpf, wait_for

pytestmark = needs_bpf

# Per row: the interval off the CPU that follows it.
INTERVALS = """
WITH next AS (
  SELECT *, lead(timestamp - duration) OVER w - timestamp AS off, lead(runnable) OVER w AS next_runnable
  FROM stacks WHERE kind = 'switch' WINDOW w AS (PARTITION BY pid ORDER BY timestamp, duration DESC)
)
"""


def test_sleep_is_found_where_it_was(record):
    r = record("-p", "switch:u", "--", EXAMPLES / "sleeper", 2)
    words = r.stdout.split()
    slept = {words[i]: float(words[i + 1]) for i in (0, 2)}
    for function in ("fetch", "backoff"):
        off = r.one(
            INTERVALS + "SELECT sum(off) / 1e9 FROM next WHERE command = 'sleeper' AND state = 'sleeping' "
            "AND list_contains(list_transform(ustack, lambda f: f.name), ?)", function,
        )
        # The program's own clock includes the entry and exit of the system call, and it prints milliseconds.
        assert slept[function] * 0.9 <= off <= slept[function] + 0.0005, (function, off, slept)


def test_slices_and_gaps_cover_a_thread_exactly(start, spawn):
    busy = spawn("sh", "-c", "while :; do sleep 0.01; done")
    sleeper = spawn("sleep", "1000")
    time.sleep(0.3)
    c = start("-p", "switch:u")
    time.sleep(1.5)
    r = c.stop()
    begin, end = r.rows("SELECT min(timestamp - duration), max(timestamp) FROM events WHERE kind = 'switch'")[0]
    for p in (busy, sleeper):
        first, last, on = r.rows(
            "SELECT min(timestamp - duration), max(timestamp), sum(duration) FROM events WHERE kind = 'switch' AND pid = ?", p.pid
        )[0]
        assert first == begin and last == end
        off, negative = r.rows(INTERVALS + "SELECT sum(off), count_if(off < 0) FROM next WHERE pid = ?", p.pid)[0]
        assert negative == 0
        assert on + off == end - begin


FUTEX = "202"


def in_calls(pid):
    """The number of the system call that each thread waits in, or 'running'."""
    return [(task / "syscall").read_text().split()[0] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def test_a_thread_that_never_runs_shows_with_its_stack(start, spawn, compile_c):
    prog = compile_c(
        "#include <pthread.h>\n#include <unistd.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "__attribute__((noinline)) int deadlock(void) { return pthread_mutex_lock(&m) + 1; }\n"
        "static void *run(void *a) { (void)a; return (void *)(long)deadlock(); }\n"
        "int main(void) { pthread_t t; pthread_mutex_lock(&m); pthread_create(&t, 0, run, 0);\n"
        "  write(1, \"x\", 1); pthread_join(t, 0); return 0; }\n",
        "-pthread", name="deadlocked",
    )
    p = spawn(prog)
    p.stdout.read(1)
    wait_for(lambda: in_calls(p.pid) == [FUTEX, FUTEX])
    before = time.monotonic()
    c = start("-p", "switch:uk")
    time.sleep(1)
    r = c.stop()
    took = time.monotonic() - before
    rows = r.rows(
        "SELECT pid, state, duration, unwind, list_transform(ustack, lambda f: f.name), len(kstack) FROM stacks "
        "WHERE kind = 'switch' AND tgid = ? ORDER BY pid, timestamp", p.pid
    )
    assert [x[1:3] for x in rows] == [("sleeping", 0), ("waiting", 0)] * 2
    main, thread = rows[0], rows[2]
    assert main[3] == thread[3] == "root"
    assert main[4][-3:-2] == ["__libc_start_main@@GLIBC_2.34"] or "main" in main[4]
    assert main[4][-1] == "_start"
    assert "deadlock" in thread[4] and "run" in thread[4] and thread[4][-1] in ("clone3", "__clone3", "clone")
    assert main[5] > 0 and thread[5] > 0
    assert rows[1][3] is None
    total = r.one(INTERVALS + "SELECT sum(off) / 1e9 FROM next WHERE pid = ?", rows[2][0])
    assert 1 <= total <= took


def kernel_threads():
    """Children of kthreadd (2), and kthreadd itself."""
    ids = (int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdecimal())
    return {pid for pid in ids if pid == 2 or parent(pid) == 2}


def parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_a_thread_of_the_kernel_that_waits_for_work_is_idle(start, spawn):
    before, p = kernel_threads(), spawn("sleep", "30")
    c = start("-p", "switch:u")
    time.sleep(1)
    r = c.stop()
    threads = before & kernel_threads()
    states = r.rows("SELECT pid, state FROM events WHERE kind = 'switch'")
    assert len(threads) > 10 and threads <= {pid for pid, _ in states}
    assert "idle" in {s for pid, s in states if pid == 2}
    assert "sleeping" not in {s for pid, s in states if pid in threads}
    assert [s for pid, s in states if pid == p.pid] == ["sleeping", "waiting"]


def test_blocked_and_runnable_are_told_apart(record):
    # Two spinners on one CPU: each waits for the other about half of the time and never sleeps.
    r = record("-p", "switch:u", "--duration", "3s", "--", "taskset", "-c", "0", "sh", "-c", "timeout 9 yes >/dev/null 2>&1 & exec yes >/dev/null")
    on, off, runnable = r.rows(
        INTERVALS + "SELECT sum(duration) / 1e9, sum(off) / 1e9, sum(next_runnable) / 1e9 FROM next "
        "WHERE command = 'yes' AND state IN ('preempted')"
    )[0]
    assert off > 0.5
    assert 0.9 * off < runnable <= off * 1.001


def test_a_minimum_joins_short_gaps_and_loses_nothing(start, spawn):
    p = spawn("sh", "-c", "while :; do sleep 0.005; done")
    time.sleep(0.2)
    c = start("-p", "switch:u:2ms", "--pid", p.pid)
    time.sleep(1.5)
    r = c.stop()
    begin, end = r.rows("SELECT min(timestamp - duration), max(timestamp) FROM events WHERE kind = 'switch' AND pid = ?", p.pid)[0]
    on, gaps = r.rows("SELECT sum(duration), sum(gaps) FROM events WHERE kind = 'switch' AND pid = ?", p.pid)[0]
    off, least = r.rows(INTERVALS + "SELECT sum(off), min(off) FROM next WHERE pid = ?", p.pid)[0]
    assert on + off == end - begin
    assert least >= 2_000_000
    rows = r.rows("SELECT timestamp - duration, timestamp, gaps, state FROM events WHERE kind = 'switch' AND pid = ? ORDER BY ALL", p.pid)
    assert gaps is not None and gaps < on, (r.lost(), rows)


def test_lock_waiters_and_the_holder(record):
    before = time.monotonic()
    r = record("-p", "switch:u", "--", EXAMPLES / "lock", 2, 4)
    took = time.monotonic() - before
    off = dict(
        r.rows(
            INTERVALS + "SELECT list_filter(list_transform(ustack, lambda f: f.name), lambda n: n IN "
            "('lock_account', 'update_account', 'main'))[1] AS f, sum(off) / 1e9 FROM next WHERE command = 'lock' GROUP BY f"
        )
    )
    # Four threads for 2 s: one sleeps with the lock, three wait for it.
    assert off["lock_account"] > 2 * off["update_account"] > 2
    assert 1.5 < off["main"] < took
    for names, _, status, _ in r.stacks("command = 'lock' AND pid != tgid"):
        assert status == "root", names
        assert "clone" in names[-1], names
        assert names[-2:-1] == ["start_thread"] or "worker" not in names  # in its first instructions
