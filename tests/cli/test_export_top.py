# SPDX-License-Identifier: GPL-2.0-or-later
"""top."""
import os
import pty
import re
import subprocess

import pytest

from conftest import EXPORT
from exporter import SOURCE, build_id, run
from recordings import PERIOD, SECOND, Batch, frame, kernel, names


def sections(text):
    """{title: [rows]}; the head is under ''."""
    out, title = {"": []}, ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z -]+( \(.*\))?", line) and line.strip():
            title = line
            out[title] = []
        elif line:
            out[title].append(line)
    return out


@pytest.fixture
def busy(tmp_path):
    b = Batch()
    b.profile(0, names("hot", "main"), count=6)
    b.profile(10, names("rec", "rec", "main"), count=2)
    b.profile(20, names("read", "main"), kernel("copy", "entry"), unwind="truncated")
    b.profile(30, names("poll"), command="other", pid=200)
    b.slice(0, SECOND, "sleeping", names("wait", "main"), kernel("schedule"), pid=1)
    b.slice(3 * SECOND, 4 * SECOND, "preempted", names("hot", "main"), pid=1, runnable=SECOND // 2)
    b.slice(5 * SECOND, 6 * SECOND, "dead", pid=1, runnable=SECOND)
    b.slice(0, 0, "disk_sleep", None, kernel("io_schedule"), pid=2, command="kworker")
    b.slice(6 * SECOND, 6 * SECOND, "waiting", pid=2, command="kworker")
    b.add("lost", 6 * SECOND, duration=SECOND, amount=12, lost_kind="switch", reason="ring_full", tgid=0, pid=0, command="")
    return b.write(tmp_path / "busy")


def test_advice(tmp_path):
    anon, jvm = frame(None, "[anon]"), frame("JavaMain", module="/usr/lib/jvm/lib/server/libjvm.so")
    b = Batch().profile(0, [anon, jvm], count=30, command="shop").profile(50, [anon, *names("main")], count=20, command="forth")
    b.profile(100, [frame(None, "/lib/libz.so.1"), *names("main")], count=40).profile(150, names("deep"), unwind="truncated", count=9)
    b.profile(200, [frame(None, "/lib/few.so")], count=1)
    lines = sections(run("top", "-r", b.write(tmp_path / "r")).stdout)["TO GET MORE FROM A RECORDING"]
    assert lines[0].startswith("40.0 % of the user stacks go through functions without names of libz.so.1: install its debug package")
    assert '"dpkg -S libz.so.1"' in lines[0]
    assert lines[1] == ("30.0 % of the user stacks of shop go through code without names that it made at run time: start java with "
                        '-XX:+PreserveFramePointer and run "jcmd PID Compiler.perfmap" while you record')
    assert lines[2].startswith("20.0 % of the user stacks of forth") and lines[2].endswith("has to write /tmp/perf-PID.map or a jitdump")
    assert lines[3] == ("9.0 % of the user stacks are larger than what was copied, or partly not in memory: record with "
                        "--stack-size=1M or --stitch")
    assert lines[4:] == []


def test_no_advice_where_nothing_is_missing(tmp_path):
    assert "TO GET MORE" not in run("top", "-r", Batch().profile(0, names("hot"), count=9).write(tmp_path / "r")).stdout


def test_losses_of_what_it_does_not_show(tmp_path):
    b = Batch().profile(0, names("hot"), count=9).add("lost", 6, amount=1, lost_kind="vfs", reason="ring_full")
    head = "\n".join(sections(run("top", "-r", b.write(tmp_path / "r")).stdout)[""])
    assert "Lost events: 1 (vfs ring_full 1)" in head and "too small" not in head


def test_functions_are_sorted_by_total_time_if_asked(busy):
    order = lambda *args: [row.split()[-1] for row in sections(run("top", "-r", busy, *args).stdout)["CPU TIME BY FUNCTION"][1:]]
    assert order()[:2] == order("--sort", "self")[:2] == ["hot", "rec"]
    assert order("--sort", "total")[:2] == ["main", "hot"]
    p = run("top", "-r", busy, "--sort", "name", status=2)
    assert "--sort 'name': expected self or total" in p.stderr


def test_top_shows_every_table(busy):
    out = sections(run("top", "-r", busy).stdout)
    head = "\n".join(out[""])
    assert "6.0 s from" in head and "15 events" in head
    assert "User stacks: 12, 91.6 % reach the root; the others: truncated 1" in head, head
    assert "Lost events: 12 (switch ring_full 12): times are too small" in head
    rows = [r.split() for r in out["TIME BY COMMAND"]]
    ms = PERIOD / 1e9
    assert rows[1] == [f"{9 * ms:.3f}", "90.0", "1.500", "1.500", "0.000", "prog"]
    assert rows[2] == [f"{ms:.3f}", "10.0", "0.000", "0.000", "0.000", "other"]
    assert rows[3] == ["0.000", "0.0", "6.000", "0.000", "0.000", "kworker"]
    assert rows[4] == [f"{10 * ms:.3f}", "100.0", "7.500", "1.500", "0.000", "(all)"]
    cpu = {tuple(r.split()[4:]): r.split()[:4] for r in out["CPU TIME BY FUNCTION"][1:-1]}
    assert cpu[("prog", "prog", "hot")] == [f"{6 * ms:.3f}", "60.0", f"{6 * ms:.3f}", "60.0"]
    assert cpu[("prog", "prog", "rec")] == [f"{2 * ms:.3f}", "20.0", f"{2 * ms:.3f}", "20.0"], "a recursion counts once"
    assert cpu[("prog", "prog", "main")] == ["0.000", "0.0", f"{9 * ms:.3f}", "90.0"]
    assert cpu[("prog", "read", "[kernel]", "copy")] == [f"{ms:.3f}", "10.0", f"{ms:.3f}", "10.0"]
    assert cpu[("prog", "[kernel]", "entry")][:2] == ["0.000", "0.0"]
    assert cpu[("prog", "prog", "read")][:3] == ["0.000", "0.0", f"{ms:.3f}"]
    off = {tuple(r.split()[8:]): r.split()[:5] + r.split()[7:8] for r in out["OFF-CPU TIME BY FUNCTION"][1:-1]}
    assert off[("prog", "prog", "wait")] == ["1.500", "0.500", "22.2", "2.000", "1", "2000.00"]
    assert off[("prog", "prog", "hot")] == ["0.000", "1.000", "11.1", "1.000", "1", "1000.00"]
    assert off[("kworker", "[kernel]", "io_schedule")] == ["6.000", "0.000", "66.7", "6.000", "1", "6000.00"]
    states = {r.split()[-1]: r.split()[:3] for k, v in out.items() if "BY STATE" in k for r in v[1:]}
    assert states == {"disk_sleep": ["6.000", "0.000", "1"], "sleeping": ["1.500", "0.500", "1"],
                      "preempted": ["0.000", "1.000", "1"], "(all)": ["7.500", "1.500", "3"]}


def test_waits_belong_to_the_caller_of_the_scheduler(tmp_path):
    """A recording with kernel stacks only says more than "all wait in schedule"."""
    b = Batch().profile(0, None, kernel("schedule", "entry"))
    b.slice(0, SECOND, "sleeping", None, kernel("__schedule", "schedule", "schedule_timeout", "do_poll", "entry"))
    b.slice(3 * SECOND, 4 * SECOND, "preempted", None, kernel("__schedule", "__cond_resched", "zap", "entry"))
    b.slice(5 * SECOND, 6 * SECOND, "sleeping", names("reschedule", "main"), kernel("__schedule"))
    b.slice(7 * SECOND, 7 * SECOND, "dead")
    out = sections(run("top", "-r", b.write(tmp_path / "r")).stdout)
    waits = {r.split()[-1]: [r.split()[i] for i in (0, 1, 3)] for r in out["OFF-CPU TIME BY FUNCTION"][1:-1]}
    assert waits == {"do_poll": ["2.000", "0.000", "2.000"], "zap": ["0.000", "1.000", "1.000"], "entry": ["0.000", "0.000", "3.000"],
                     "reschedule": ["1.000", "0.000", "1.000"], "main": ["0.000", "0.000", "1.000"]}
    assert out["CPU TIME BY FUNCTION"][1].split()[-1] == "schedule"


def waits_of(path):
    """{function: (blocked seconds in itself, in total)}"""
    out = sections(run("top", "-r", path).stdout)
    return {r.split()[-1]: (r.split()[0], r.split()[3]) for r in out["OFF-CPU TIME BY FUNCTION"][1:-1]}


@pytest.mark.parametrize("libc, call", [
    (["__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel", "read"], "read"),  # with debug information
    (["__syscall_cancel_arch", None, None, "read"], "read"),
    ([None, None, "read"], "read"),
    (["__lll_lock_wait", "pthread_mutex_lock"], "pthread_mutex_lock"),
])
def test_a_thread_waits_in_the_function_that_called_libc(libc, call, tmp_path):
    """With what it called, with names and in a stripped libc."""
    stack = names(*libc, module="/usr/lib/libc.so.6") + names("serve", "main")
    b = Batch().slice(0, SECOND, "sleeping", stack).slice(3 * SECOND, 3 * SECOND, "dead")
    found = waits_of(b.write(tmp_path / "r"))
    assert found == {"serve": ("2.000", "2.000"), "main": ("0.000", "2.000")}
    row = sections(run("top", "-r", tmp_path / "r").stdout)["OFF-CPU TIME BY FUNCTION"][1].split()
    assert row[-4:] == ["prog", call, "prog", "serve"]


def test_a_function_without_a_name_is_where_a_thread_waits_if_no_caller_has_one(tmp_path):
    libc = "/usr/lib/libc.so.6"
    start = names("__libc_start_main", module=libc) + names("_start")
    for i, (stack, where) in enumerate([
            (names(None, module=libc) + names("main"), "main"),
            (names(None, module=libc) + start, "symbol]"),
            (names("read", module=libc) + names(None) + start, "symbol]"),
            (names(None, module="/usr/lib/libother.so") + names("main") + start, "main")]):
        b = Batch().slice(0, SECOND, "sleeping", stack).slice(3 * SECOND, 3 * SECOND, "dead")
        waits = waits_of(b.write(tmp_path / str(i)))
        assert [f for f, (blocked, _) in waits.items() if blocked == "2.000"] == [where]


def libc(*functions):
    return names(*functions, module="/usr/lib/libc.so.6")


LOOPS = {
    "epoll": libc("epoll_wait") + names("turn", "run", "serve", "main") + libc("__libc_start_main"),
    "pool": libc("pthread_cond_wait") + names("take", "worker") + libc("start_thread"),
    "join": libc("pthread_join") + names("a", "b", "c", "main"),
    "go": names("runtime.futex", "runtime.stopm", "runtime.findRunnable", "runtime.mcall"),
    "secure_read": libc("epoll_wait") + names("WaitEventSetWait", "secure_read", "PostgresMain", "main"),
    "java": libc("pthread_cond_wait") + names("java.lang.Object.wait", "java.lang.ref.ReferenceQueue.remove", "java.lang.Thread.run"),
}
CAUSES = {
    "reads_a_result": libc("poll") + names("reads_a_result", "query", "handle", "worker") + libc("start_thread"),
    "borrows": libc("pthread_cond_wait") + names("borrows", "query", "worker") + libc("start_thread"),
    "naps": libc("clock_nanosleep") + names("naps") + libc("start_thread"),
    "locks": libc("__lll_lock_wait", "pthread_mutex_lock") + names("locks") + libc("start_thread"),
    "Shop.reserve": libc("pthread_cond_timedwait") + names("ObjectMonitor::enter", module="/jvm/libjvm.so")
                    + names("Shop.reserve", "Shop.buy", "java.lang.Thread.run", "call_stub"),
    "Shop.fetch": libc("read") + names("Java_sun_nio_ch_SocketDispatcher_read0", "sun.nio.ch.NioSocketImpl.read", "Shop.fetch", "Shop.buy"),
    "XactLockTableWait": libc("epoll_wait")
                         + names("WaitEventSetWait", "WaitLatch", "ProcSleep", None, "LockAcquireExtended", "XactLockTableWait", "main"),
}


def test_waiting_for_work_is_one_line_that_can_be_opened(tmp_path):
    b = Batch()
    for pid, stack in enumerate([*LOOPS.values(), *CAUSES.values()], start=1):
        b.slice(0, SECOND, "sleeping", stack, pid=pid).slice(3 * SECOND, 4 * SECOND, "dead", pid=pid, runnable=SECOND // 2)
    b.write(tmp_path / "r")
    text = run("top", "-N", 40, "-r", tmp_path / "r").stdout
    table = [r.split() for r in sections(text)["OFF-CPU TIME BY FUNCTION"][1:]]
    assert {r[-1] for r in table if r[0] == "1.500"} == set(CAUSES)
    assert table[-1][:2] == [f"{1.5 * len(CAUSES):.3f}", f"{0.5 * len(LOOPS | CAUSES):.3f}"], "waiting for a CPU is no lack of work"
    line = f"Not counted: {1.5 * len(LOOPS):.3f} s in which threads waited for work"
    assert f"{line} (--waiting shows where)." in text and "WAITING FOR WORK" not in text
    assert sections(text)["TIME BY COMMAND"][1].split()[2:5] == [
        f"{seconds:.3f}" for seconds in (1.5 * len(CAUSES), 0.5 * len(LOOPS | CAUSES), 1.5 * len(LOOPS))]
    text = run("top", "--waiting", "-N", 40, "-r", tmp_path / "r").stdout
    rows = [r.split() for r in sections(text)["WAITING FOR WORK BY FUNCTION"][1:]]
    assert f"{line}.\n" in text and [f"{1.5 * len(LOOPS):.3f}", str(len(LOOPS)), "(all)"] in rows
    assert {r[-1] for r in rows if r[0] == "1.500"} == {
        "turn", "take", "a", "runtime.futex", "secure_read", "java.lang.ref.ReferenceQueue.remove"}


def test_lengths_of_waits(tmp_path):
    """p50 and p99 are right to 3 %, the maximum is exact."""
    b, at = Batch(), 0
    for i in range(200):
        length = SECOND if i == 7 else (i + 1) * 1_000_000 if i < 198 else 3 * SECOND
        b.slice(at, at + 1000, "sleeping", names("wait"))
        at += 1000 + length
    b.slice(at, at + 1000, "dead")
    row = sections(run("top", "-r", b.write(tmp_path / "r")).stdout)["OFF-CPU TIME BY FUNCTION"][1].split()
    assert row[4] == "200" and row[7] == "3000.00"
    assert float(row[5]) == pytest.approx(101, rel=0.03) and float(row[6]) == pytest.approx(1000, rel=0.03)


DOCKER = "/system.slice/docker-" + "0123456789abcdef" * 4 + ".scope"
GROUPS = {
    "command": ("prog", "prog"), "process": ("prog (100)", "prog (200)"), "thread": ("pool (100)", "prog (200)"), "host": ("here", "there"),
    "cgroup": (DOCKER, "/system.slice/nginx.service"), "container": ("0123456789ab", "[no container]"),
    "unit": (DOCKER.rsplit("/", 1)[1], "nginx.service"), "span": ("login", "[no span]"),
}


@pytest.mark.parametrize("by", GROUPS)
def test_rows_are_by_what_is_asked_for(tmp_path, by):
    one = dict(pid=100, tgid=100, thread="pool", host="here", cgroup=DOCKER, trace_name="login")
    two = dict(pid=200, tgid=200, host="there", cgroup="/system.slice/nginx.service")
    b = Batch()
    for fields, cnt in (one, 3), (two, 2):
        b.profile(0, names("f"), count=cnt, **fields)
        b.slice(0, SECOND, "sleeping", names("wait"), **fields).slice((1 + cnt) * SECOND, 9 * SECOND, "dead", **fields)
    out = sections(run("top", "--by", by, "-r", b.write(tmp_path / "r")).stdout)
    rows = out[f"TIME BY {by.upper()}"]
    assert rows[0].split()[-1] == by
    assert [r.split("  ")[-1].strip() for r in rows[1:-1]] == list(dict.fromkeys(GROUPS[by]))
    for title in "CPU TIME BY FUNCTION", "OFF-CPU TIME BY FUNCTION":
        for name in GROUPS[by]:
            assert any(name in row for row in out[title]), title


def test_unknown_groups_are_refused(busy):
    assert "--by 'nothing': expected command, process" in run("top", "-r", busy, "--by", "nothing", status=2).stderr


def test_top_selects_a_command(busy):
    out = sections(run("top", "-r", busy, "-c", "prog").stdout)
    assert "User stacks: 11, 90.9 % reach the root; the others: truncated 1" in "\n".join(out[""])
    out = sections(run("top", "-r", busy, "-c", "other").stdout)
    assert "User stacks: 1, 100.0 % reach the root\n" in "\n".join(out[""]) + "\n"
    assert [r.split()[-1] for r in out["TIME BY COMMAND"][1:]] == ["other", "(all)"]
    assert "No off-CPU time" in "\n".join(sum(out.values(), []))
    out = sections(run("top", "-r", busy, "-N", 1).stdout)
    rows = out["CPU TIME BY FUNCTION"]
    assert len(rows) == 4 and rows[2].endswith("(6 more)") and rows[3].endswith("(all)")
    assert float(rows[1].split()[0]) + float(rows[2].split()[0]) == pytest.approx(float(rows[3].split()[0]), abs=0.002)


def test_top_selects_by_build_id(busy, compile_c, tmp_path):
    prog = compile_c(SOURCE)
    p = run("top", "-r", busy, "-b", prog, status=1)
    assert "empty" in p.stderr
    Batch().profile(1, names("f"), buildid=bytes.fromhex(build_id(prog))).profile(2, names("g")).write(tmp_path / "r")
    out = run("top", "-r", tmp_path / "r", "-b", prog).stdout
    assert " f\n" in out and " g\n" not in out


def test_top_works_without_a_loss_or_a_stack(tmp_path):
    out = run("top", "-r", Batch().profile(1, None, None).write(tmp_path / "r")).stdout
    assert "Lost events: 0\n" in out and "[no stack]" in out and "User stacks" not in out


def test_top_fits_the_terminal(tmp_path):
    rec = Batch().profile(1, names("a" * 300, "b" * 200), command="c" * 15).write(tmp_path / "r")
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    p = subprocess.Popen([EXPORT, "top", "-r", rec], stdout=theirs, stderr=subprocess.PIPE, cwd="/")
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass
    assert p.wait(timeout=60) == 0
    table = text.decode().split("TIME BY COMMAND")[1]
    assert "…" in table and max(map(len, table.splitlines())) <= 80


def test_top_adds_up(tmp_path):
    """Idle kernel workers are in no table, rows that would print as zeros are omitted, and every table has the same sums."""
    b = Batch().profile(0, names("f"), command="busy").profile(0, names("g"), command="brief", pid=5, tgid=5)
    b.slice(0, SECOND, "sleeping", names("wait", "main"), pid=1).slice(3 * SECOND, 4 * SECOND, "dead", pid=1)
    b.slice(0, SECOND, "idle", None, kernel("worker"), pid=2, command="kworker").slice(9 * SECOND, 9 * SECOND, "dead", pid=2, command="kworker")
    for i in range(20):
        b.slice(0, SECOND, "sleeping", names(f"nap{i}"), pid=10 + i, command=f"c{i}").slice(SECOND + 1000, SECOND + 1000, "dead", pid=10 + i, command=f"c{i}")
    text = run("top", "-r", b.write(tmp_path / "r")).stdout
    assert "Not counted: 8.000 s in which threads of the kernel waited for work.\n" in text and "kworker" not in text
    out = sections(text)
    states = next(v for k, v in out.items() if "BY STATE" in k)
    assert [t[-1].split()[0] for t in (out["OFF-CPU TIME BY FUNCTION"], states[:-1])] == ["2.000"] * 2 and out["TIME BY COMMAND"][-1].split()[2] == "2.000"
    assert text.count("(20 more)") == 2 and "nap" not in text and not re.search(r" c\d+$", text, re.M)
