# SPDX-License-Identifier: GPL-2.0-or-later
"""The processes that a recording covers, and the names of processes and threads that come and go."""
import errno
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from conftest import EXAMPLES, alone, needs_bpf, wait_for, wait_worked

pytestmark = needs_bpf

SPIN = "volatile unsigned long sink; __attribute__((noinline)) void spin(long n) { for (long i = 0; i < n; i++) sink += i; }\n"


def commands(r):
    return {c for c, in r.rows("SELECT DISTINCT command FROM events WHERE kind != 'lost'")}


def test_only_these_commands_are_recorded(start, spawn):
    spawn(EXAMPLES / "cpu", 30)
    spawn(EXAMPLES / "deep", 30)
    spawn(EXAMPLES / "sleeper", 30)
    c = start("-p", "profile:u,switch:u", "cpu", "sleeper")
    time.sleep(1)
    assert commands(c.stop()) == {"cpu", "sleeper"}


def test_the_whole_system_is_recorded_but_not_the_collector(start, spawn):
    spawn(EXAMPLES / "cpu", 30)
    c = start("-p", "profile:u,switch:uk")
    own = c.pid
    time.sleep(1)
    r = c.stop()
    assert "cpu" in commands(r)
    assert r.one("SELECT count(*) FROM events WHERE tgid IN (?, ?)", own, c.proc.pid) == 0
    # Kernel threads have only a kernel stack.
    kernel = r.rows("SELECT count(*), count(ustack_id), count(kstack_id), count(buildid) FILTER (buildid != ''::BLOB) FROM events WHERE regexp_matches(command, '^(rcu|kworker|ksoftirqd|migration)') AND state NOT IN ('waiting', 'running')")[0]
    assert kernel[0] > 0 and kernel[1] == 0 and kernel[2] > 0 and kernel[3] == 0


def test_a_process_its_threads_and_descendants_are_recorded(start, spawn):
    forker = spawn(
        "/usr/bin/python3", "-c",
        "import os, threading, time\n"
        "threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()\n"
        "def burn(s):\n  e = time.process_time() + s\n  while time.process_time() < e: pass\n"
        "while True:\n  p = os.fork()\n  if p == 0: burn(.05); os._exit(0)\n  os.waitpid(p, 0); print(p, flush=True)\n",
    )
    spawn(EXAMPLES / "cpu", 30)
    forker.stdout.readline()
    c = start("-p", "profile:u:499,switch:u", "--pid", forker.pid)
    for _ in range(10):
        forker.stdout.readline()
    r = c.stop()
    assert commands(r) == {"python3"}
    tgids = {t for t, in r.rows("SELECT DISTINCT tgid FROM events")}
    assert forker.pid in tgids and len(tgids) > 3
    assert r.one("SELECT count(DISTINCT pid) FROM events WHERE tgid = ?", forker.pid) == 2
    stacks = r.stacks(f"kind = 'profile' AND tgid != {forker.pid}")
    assert stacks and sum(n for _, _, s, n in stacks if s == "root") / sum(n for *_, n in stacks) > 0.95


def test_one_thread_is_recorded(start, spawn, compile_c):
    prog = compile_c(
        "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n" + SPIN +
        "static void *run(void *a) { (void)a; printf(\"%ld\\n\", syscall(SYS_gettid)); fflush(stdout); for (;;) { spin(1000000); usleep(1000); } return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); for (;;) { spin(1000000); usleep(1000); } }\n",
        "-pthread", name="twothreads",
    )
    p = spawn(prog)
    tid = int(p.stdout.readline())
    c = start("-p", "profile:u,switch:u", "--pid", tid)
    time.sleep(1)
    r = c.stop()
    assert r.rows("SELECT DISTINCT tgid, pid FROM events WHERE kind != 'lost'") == [(p.pid, tid)]


def test_the_recording_ends_with_the_last_descendant(start, spawn):
    """The process itself exits half a second before its child."""
    p = spawn("sh", "-c", "read line; (sleep 1; echo child) & sleep 0.5; echo parent", stdin=subprocess.PIPE)
    c = start("-p", "switch:u", "--pid", p.pid)
    p.stdin.write("\n")
    p.stdin.flush()
    p.wait()
    left = time.monotonic()
    r = c.finish(timeout=30)
    assert r.returncode == 0 and "all processes of --pid have ended" in r.stderr and time.monotonic() - left > 0.25
    assert r.one("SELECT count(*) FROM events WHERE state = 'dead' AND tgid = ?", p.pid) == 1
    assert r.one("SELECT count(*) FROM events WHERE command = 'sleep' AND state = 'dead'") == 2


def test_the_recording_ends_with_the_thread(start, spawn, compile_c):
    prog = compile_c(
        "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n"
        "static void *run(void *a) { (void)a; printf(\"%ld\\n\", syscall(SYS_gettid)); fflush(stdout); getchar(); return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); pause(); }\n",
        "-pthread", name="onethread",
    )
    p = spawn(prog, stdin=subprocess.PIPE)
    tid = int(p.stdout.readline())
    c = start("-p", "switch:u", "--pid", tid)
    p.stdin.write("\n")
    p.stdin.flush()
    r = c.finish(timeout=30)
    assert r.returncode == 0 and p.poll() is None
    assert r.rows("SELECT DISTINCT pid FROM events WHERE kind = 'switch'") == [(tid,)]
    assert r.one("SELECT count(*) FROM events WHERE state = 'dead'") == 1


def test_a_user_is_recorded(start, spawn, public):
    """The user ID is not 65534: the workers of other collectors have that one."""
    spawn(public(EXAMPLES / "sleeper"), 30, user="daemon")
    spawn(EXAMPLES / "lock", 30)
    c = start("-p", "switch:u", "--uid", "daemon")
    time.sleep(1)
    assert commands(c.stop()) == {"sleeper"}


def removed(group):
    """The directory cannot be removed while a process in it is still exiting."""
    try:
        group.rmdir()
    except OSError as e:
        assert e.errno == errno.EBUSY
        return False
    return True


def test_a_cgroup_is_recorded(start, spawn):
    root = next((l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2"), None)
    if root is None:
        pytest.skip("no cgroup v2 is mounted")
    group = pathlib.Path(root) / f"stacks-test-{os.getpid()}" / "inner"
    group.mkdir(parents=True)
    try:
        p = spawn(EXAMPLES / "sleeper", 30)
        spawn(EXAMPLES / "lock", 30)
        (group / "cgroup.procs").write_text(str(p.pid))
        c = start("-p", "switch:u", "--cgroup", group.parent.name)
        time.sleep(1)
        r = c.stop()
        assert commands(r) == {"sleeper"}
        assert r.rows("SELECT DISTINCT cgroup FROM events WHERE kind = 'switch'") == [(f"/{group.parent.name}/inner",)]
        p.kill()
        p.wait()
    finally:
        wait_for(lambda: removed(group))
        wait_for(lambda: removed(group.parent))


def test_rows_have_names_and_the_host(start, spawn, compile_c):
    prog = compile_c(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <unistd.h>\n"
        "static void *run(void *a) { (void)a; pthread_setname_np(pthread_self(), \"worker-7\"); for (;;) usleep(1000); return 0; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); for (;;) usleep(1000); }\n",
        "-pthread", name="mainname",
    )
    p = spawn(prog)
    tasks = pathlib.Path(f"/proc/{p.pid}/task")
    wait_for(lambda: {"mainname\n", "worker-7\n"} == {(t / "comm").read_text() for t in tasks.iterdir()})
    c = start("-p", "switch:u", "mainname")
    time.sleep(0.5)
    r = c.stop()
    assert set(r.rows("SELECT DISTINCT command, thread, pid = tgid FROM events WHERE kind = 'switch'")) == {
        ("mainname", "mainname", True), ("mainname", "worker-7", False)
    }
    assert r.rows("SELECT DISTINCT host FROM events") == [(os.uname().nodename,)]
    notes = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True).stdout
    build_id = notes.split("Build ID: ")[1].split()[0]
    assert r.rows("SELECT DISTINCT hex(buildid) FROM events WHERE kind = 'switch'") == [(build_id.upper(),)]
    assert r.rows("SELECT DISTINCT f.build_id FROM (SELECT unnest(frames) AS f FROM stacktraces) WHERE f.name = 'main'") == [(build_id,)]


@pytest.mark.parametrize("deleted, least", [(False, 0.97), (True, 0.5)], ids=["gone", "deleted"])
def test_a_program_that_is_gone_keeps_its_names(start, compile_c, tmp_path, deleted, least):
    """The file of a process that lived 20 ms still exists when it is looked up, was opened in time, or is known by its build
    ID."""
    prog = compile_c(SPIN + "int main(void) { spin(20000000); return 0; }\n", name="shortlived")
    c = start("-p", "profile:u:999,switch:u")
    for i in range(30):
        copy = tmp_path / f"brief{i}"
        shutil.copy(prog, copy)
        subprocess.run([copy], check=True)
        if deleted:
            copy.unlink()
    r = c.stop()
    seen = r.rows("SELECT command, list_transform(ustack, lambda f: f.name), unwind FROM stacks WHERE kind = 'profile' AND command LIKE 'brief%' AND len(ustack) > 0")
    inside = [names for _, names, unwind in seen if "spin" in names]
    assert len({command for command, *_ in seen}) > 20
    named = sum("main" in names or names[-1] == "_start" for _, names, _ in seen)
    assert named / len(seen) > least, [s for s in seen if "main" not in s[1]][:5]
    assert inside


def test_exec_replaces_and_dlopen_is_followed(record, compile_c, tmp_path):
    lib = compile_c(SPIN + "void plugin_work(void) { for (int i = 0; i < 300; i++) spin(1000000); }\n", "-shared", "-fPIC", name="plugin.so")
    prog = compile_c(
        "#include <dlfcn.h>\n#include <stddef.h>\nint main(int c, char **v) { (void)c;\n"
        "  for (int i = 0; i < 2; i++) { void *h = dlopen(v[1], RTLD_NOW); void (*f)(void) = (void (*)(void))dlsym(h, \"plugin_work\"); f(); dlclose(h); }\n"
        "  return 0; }\n", "-ldl", name="loader",
    )
    r = record("-p", "profile:u:499", "--", "sh", "-c", f"exec {prog} {lib}")
    stacks = [s for s in r.stacks("command = 'loader'") if s[0] and "spin" in s[0]]
    assert stacks
    for names, modules, status, _ in stacks:
        assert status == "root" and names[:3] == ["spin", "plugin_work", "main"] and names[-1] == "_start"
        assert modules[0] == str(lib)


def test_processes_have_a_table(record):
    """With the command line of the program after exec, as /proc gives it, and never the environment."""
    program = "import os; print(os.getpid(), os.getppid(), open('/proc/self/stat').read().split()[21], flush=True); sum(range(2 * 10**7))"
    r = record("-p", "profile:u:499,switch:u", "--", "sh", "-c", 'exec /usr/bin/python3 -c "$0" "$@"', program, "two words", env={**os.environ, "SECRET": "hidden"})
    pid, parent, ticks = map(int, r.stdout.split())
    rows = r.rows(f"SELECT command_line, executable, parent, uid, user, start, timestamp >= start FROM read_parquet('{r.path}/processes-*.parquet') WHERE tgid = ? ORDER BY timestamp", pid)
    assert rows[-1][:2] == (f"/usr/bin/python3 -c {program} two words", os.path.realpath("/usr/bin/python3"))
    assert {row[2:5] for row in rows} == {(parent, 0, "root")} and {row[6] for row in rows} == {True}
    boot_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert abs(rows[-1][5] - boot_ns - ticks * 10**9 // os.sysconf("SC_CLK_TCK")) < 10**9
    assert not any(b"hidden" in f.read_bytes() for f in r.path.iterdir())


def test_a_replaced_file_is_not_taken_for_the_old_one(start, spawn, compile_c, tmp_path):
    body = "int main(void) { for (;;) %s(10000000); }\n"
    old = compile_c(SPIN.replace("spin(", "old_spin(") + body % "old_spin", name="old")
    new = compile_c("int pad[99];\n__attribute__((noinline)) int other(void) { return pad[0]; }\n" + SPIN.replace("spin(", "new_spin(") + body % "new_spin", name="new")
    run = tmp_path / "victim"
    shutil.copy(old, run)
    victim = spawn(run)
    wait_worked(0.05, victim)
    run.unlink()
    shutil.copy(new, run)
    c = start("-p", "profile:u:499", "victim")
    wait_worked(0.2, victim)
    r = c.stop()
    names = {n for s in r.stacks() for n in s[0]}
    assert "old_spin" in names and "new_spin" not in names


def test_a_forged_build_id_changes_no_other_program(start, spawn, compile_c):
    """A user's program has the build ID of the C library and is seen first. Each has its own frames and names."""
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    build_id = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True).stdout.split("Build ID: ")[1].split()[0]
    liar = compile_c(SPIN.replace("spin(", "lie(") + "int main(void) { for (;;) lie(10000000); }\n", f"-Wl,--build-id=0x{build_id}", name="liar")
    shutil.chown(liar, "nobody", "nogroup")
    honest = compile_c(
        "#include <stdlib.h>\n#include <string.h>\nstatic int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n"
        "int main(void) { static int v[99999]; for (;;) { for (int i = 0; i < 99999; i++) v[i] = i * 7919 % 99991; qsort(v, 99999, sizeof(int), order); } }\n",
        name="honest",
    )
    spawn(liar)
    c = start("-p", "profile:u:499", "liar", "honest")
    time.sleep(0.5)
    spawn(honest)
    time.sleep(1)
    r = c.stop()
    lies, truths = (r.stacks(f"command = '{path.name}' AND list_contains(list_transform(ustack, lambda f: f.module), '{path}')") for path in (liar, honest))
    assert lies and truths
    for names, modules, status, _ in lies:
        assert status == "root" and names[-1] == "_start", names
        assert names[0] == "lie" or modules[0] != str(liar) or names[0] in ("main", "_start"), names
    for names, _, status, _ in truths:
        assert status == "root" and names[-1] == "_start" and "lie" not in names, names
    assert any("qsort_r" in names for names, *_ in truths)


REUSES = r"""
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* Runs argv[2], argv[3] … one after the other, all of them as process argv[1]. */
int main(int argc, char **argv)
{
	pid_t id = atoi(argv[1]);
	for (int i = 2; i < argc; i++) {
		struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&id, .set_tid_size = 1 };
		long pid = syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0) {
			execl(argv[i], argv[i], (char *)0);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, 0, 0) != pid)
			return 77;
	}
	return 0;
}
"""


def test_a_reused_process_id_has_its_own_stacks(record, compile_c):
    """Six programs, one after the other, with one process id. Each has its own stacks."""
    body = "#include <time.h>\nint main(void) { struct timespec t; do { work_%d(1000000); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); } while (t.tv_nsec < 100000000 && !t.tv_sec); }\n"
    programs = [compile_c(f"int pad_{i}[{99 * i + 1}];\n__attribute__((noinline)) int skip_{i}(int n) {{ return n ? skip_{i}(n / 2) + pad_{i}[0] : {i}; }}\n" * (i % 2)
                          + SPIN.replace("spin(", f"work_{i}(") + body % i, name=f"again_{i}") for i in range(6)]
    free = next(pid for pid in range(20011, 30000) if not pathlib.Path(f"/proc/{pid}").exists())
    reuses = compile_c(REUSES, name="reuses")
    if subprocess.run([reuses, str(free), "/bin/true"]).returncode:
        pytest.skip("process ids cannot be chosen here")
    r = record("-p", "profile:u:499", "--", reuses, free, *programs)
    for i in range(6):
        stacks = r.stacks(f"tgid = {free} AND command = 'again_{i}' AND list_contains(list_transform(ustack, lambda f: f.module), '{programs[i]}')")
        assert stacks, i
        for names, modules, status, _ in stacks:
            assert status == "root" and names[-1] == "_start", (i, names, status)
            assert not [n for n in names if n and n.startswith("work_") and n != f"work_{i}"], (i, names)
        assert any(names[0] == f"work_{i}" for names, *_ in stacks)


def forge_frames(source, target):
    """A copy with the same build ID. Its call-frame information looks for return addresses 8 bytes too low."""
    sections = subprocess.run(["readelf", "-SW", source], capture_output=True, text=True, check=True).stdout
    name, offset, size = re.search(r"\s(\.eh_frame)\s+PROGBITS\s+\w+\s+(\w+)\s+(\w+)", sections).groups()
    begin, end = int(offset, 16), int(offset, 16) + int(size, 16)
    image = pathlib.Path(source).read_bytes()
    forged = image[begin:end].replace(bytes.fromhex("0c07089001"), bytes.fromhex("0c07089002"))
    assert forged != image[begin:end]
    pathlib.Path(target).write_bytes(image[:begin] + forged + image[end:])
    os.chmod(target, 0o755)


@alone  # tables are read before 3 % of the samples are taken
def test_a_file_of_another_mount_namespace_changes_no_other_program(start, spawn, tmp_path):
    """Root in a container has a libc with the build ID of the host's libc. The host's programs have their own rules and
    names."""
    libc = pathlib.Path(next(line.split()[2] for line in subprocess.run(["ldd", EXAMPLES / "cpu"], capture_output=True, text=True).stdout.splitlines()
                             if "libc.so" in line)).resolve()
    forged = tmp_path / "libc.so.6"
    forge_frames(libc, forged)
    inside = spawn("unshare", "-m", "sh", "-c", f"mount --bind {forged} {libc} && exec {EXAMPLES}/cpu 100")
    wait_worked(0.2, inside)
    args = ["-p", "profile:u:499", "--cache", tmp_path / "cache"]
    for turn in range(2):
        c = start(*args)
        wait_worked(0.5, inside)
        outside = spawn(EXAMPLES / "cpu", 100)
        wait_worked(1.5, outside)
        r = c.stop()
        rooted, all_ = r.rows("SELECT count(*) FILTER (unwind = 'root'), count(*) FROM events WHERE kind = 'profile' AND tgid = ?", outside.pid)[0]
        assert all_ > 300 and rooted > 0.97 * all_, (turn, rooted, all_)
        wrong = r.one("SELECT count(*) FROM events WHERE kind = 'profile' AND tgid = ? AND unwind = 'root'", inside.pid)
        assert wrong < 0.5 * r.one("SELECT count(*) FROM events WHERE kind = 'profile' AND tgid = ?", inside.pid), "nothing was forged"
        outside.kill()
