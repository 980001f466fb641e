# SPDX-License-Identifier: GPL-2.0-or-later
"""A user with hostile file systems costs other users no stacks, and the recording ends in time."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

from conftest import BUILD, EXAMPLES, alone, needs_bpf, wait_for, wait_status, wait_worked
from test_files import BUSY, ends, slow  # noqa: F401
from test_sandbox import section, starter_of

pytestmark = [needs_bpf, alone]

ATTACK_SECONDS = 60  # an attack can keep the whole machine from forking: it ends even if its test hangs

# Code in anonymous memory: a loop for a perf map to name.
ANONYMOUS = """
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, loop, sizeof(loop));
	for (;;)
		((void (*)(long))p)(1000000);
}
"""

# __jit_debug_descriptor is on a page of a file that its file server does not deliver.
DESCRIPTOR = """
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
struct { unsigned version, action; void *relevant, *first; } __jit_debug_descriptor __attribute__((aligned(4096))) = { 1, 0, 0, 0 };
static char rest[4096] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(argv[1], O_RDONLY);
	if (fd < 0 || mmap(&__jit_debug_descriptor, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		return argc + !!rest[0];
	memcpy(p, loop, sizeof(loop));
	for (;;)
		((void (*)(long))p)(1000000);
}
"""

# One thread waits for a page of the file. Another maps the file without the page cache, and waits for that page while it holds the
# lock of the address space.
HOLDER = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static char path[256], direct[256];
static int waiter_tid;
static void *wait_for_page(void *arg)
{
	char byte;
	__atomic_store_n(&waiter_tid, gettid(), __ATOMIC_RELEASE);
	return (void *)pread(*(int *)arg, &byte, 1, 0);
}
static int waiter_blocks(void)
{
	char name[64];
	int nr = -1, tid = __atomic_load_n(&waiter_tid, __ATOMIC_ACQUIRE);
	FILE *f;
	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", tid);
	if (!tid || !(f = fopen(name, "r")))
		return 0;
	if (fscanf(f, "%d", &nr) != 1)
		nr = -1; /* "running" */
	fclose(f);
	return nr == SYS_pread64;
}
static void *hold(void *arg)
{
	int page = open(path, O_RDONLY), past;
	pthread_t waiter;
	(void)arg;
	pthread_create(&waiter, 0, wait_for_page, &page);
	while (!waiter_blocks())
		usleep(1000);
	close(open(direct, O_CREAT | O_WRONLY, 0600));
	past = open(path, O_RDONLY);
	puts("holding");
	fflush(stdout);
	mmap(0, 4096, PROT_READ, MAP_PRIVATE, past, 0);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t holder;
	if (argc > 3)
		mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[3], O_RDONLY), 0);
	snprintf(path, sizeof(path), "%s/page", argv[1]);
	snprintf(direct, sizeof(direct), "%s/.direct", argv[2]);
	pthread_create(&holder, 0, hold, NULL);
	for (volatile long n = 0;; n++)
		;
	return argc;
}
"""

# A FUSE server and an overlay over it, in the user's own namespaces. Prints "ready" right before the program runs.
OVERLAY = """
set -e
mount -t tmpfs none /mnt
mkdir /mnt/fuse /mnt/upper /mnt/merged /mnt/upper/u /mnt/upper/w
cp $PROGRAM /mnt/hostile
$SLOWFS $SOURCE /mnt/fuse > /mnt/log &
until grep -q mounted /mnt/log; do sleep 0.05; done
mount -t overlay -o lowerdir=/mnt/fuse,upperdir=/mnt/upper/u,workdir=/mnt/upper/w,userxattr none /mnt/merged
touch $SOURCE/.hang
mount --bind /mnt/merged /tmp
echo ready
exec /mnt/hostile
"""

# Programs on FUSE servers that answer a read of the first byte but none behind it. They leave the CPUs to honest programs.
CROWD = """
set -e
mount -t tmpfs none /mnt
for i in $(seq $COUNT); do
    mkdir -p /mnt/$i/fuse /mnt/$i/upper /mnt/$i/work /mnt/$i/merged
    $SLOWFS $SOURCE /mnt/$i/fuse > /mnt/log$i &
    until grep -q mounted /mnt/log$i; do sleep 0.05; done
    mount -t overlay -o lowerdir=/mnt/$i/fuse,upperdir=/mnt/$i/upper,workdir=/mnt/$i/work,userxattr none /mnt/$i/merged
    nice /mnt/$i/merged/hostile &
done
sleep 1
touch $SOURCE/.direct
echo "$FROM $TO" > $SOURCE/.hang
echo ready
wait
"""

SERVED = """
set -e
mount -t tmpfs none /mnt
mkdir /mnt/fuse
$SLOWFS $SOURCE /mnt/fuse > /mnt/log &
until grep -q mounted /mnt/log; do sleep 0.05; done
"""

DESCRIBED = SERVED + """
$PROGRAM /mnt/fuse/page &
sleep 1
touch $SOURCE/.hang
echo ready
wait
"""

HELD = SERVED + """
stat /mnt/fuse/page > /mnt/log2
echo "0 65536" > $SOURCE/.hang
$PROGRAM /mnt/fuse $SOURCE $MAPPED > /mnt/held &
until grep -q holding /mnt/held; do sleep 0.05; done
echo ready
wait
"""


@pytest.fixture
def attack(tmp_path):
    """attack(script, **variables) runs it in a user and a mount namespace. All of it is removed at the end of the test."""
    slowfs = BUILD / "tests" / "slowfs"
    assert slowfs.exists(), f"make {slowfs}"
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no /dev/fuse")
    if subprocess.run(["unshare", "-Urm", "true"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no user namespaces")
    source = tmp_path / "source"
    source.mkdir()
    running, guards = [], []

    def go(script, **variables):
        env = {**os.environ, "SLOWFS": slowfs, "SOURCE": source, **{k: str(v) for k, v in variables.items()}}
        p = subprocess.Popen(["unshare", "-Urmpf", "--kill-child", "--mount-proc", "bash", "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(p)
        guards.append(threading.Timer(ATTACK_SECONDS, p.kill))
        guards[-1].start()
        line = p.stdout.readline()
        if line != "ready\n":
            p.kill()
            pytest.skip(f"the attack cannot be made here: {p.communicate()[1]}")
        return p

    go.source = source
    yield go
    for name in ".hang", ".direct":
        (source / name).unlink(missing_ok=True)
    for guard in guards:
        guard.cancel()
    for p in running:
        p.kill()
        p.communicate()


def end_in_time(c):
    """Everything is written, and the collector exits within 5 s after SIGTERM."""
    c.proc.send_signal(signal.SIGTERM)
    before = time.monotonic()
    r = c.finish(timeout=30)
    took = time.monotonic() - before
    assert r.returncode == 0, r.stderr
    assert took < 6, f"{took:.1f} s; {r.stderr}"
    return r


def release(attacker):
    """Ends the file server, and with it all that waits for it."""
    attacker.kill()
    attacker.communicate()


def check_samples(r):
    """None is lost."""
    reasons = r.rows("SELECT reason, sum(amount) FROM events WHERE kind = 'lost' AND lost_kind = 'profile' GROUP BY 1")
    assert r.lost("profile") == 0, (reasons, r.stderr)


def check_others(r, *commands):
    for command in commands:
        found = ends(r, command)
        assert found.get("root", 0) / max(sum(found.values()), 1) > 0.95, (command, found, r.stderr)
        assert any(n[:3] == ["spin", "work", "main"] for n, _, _, _ in r.stacks(f"kind = 'profile' AND command = '{command}'"))


def test_a_perf_map_that_never_answers_harms_no_other_program(start, spawn, compile_c, attack):
    """An overlay reads with the rights of its mounter, so FUSE does not refuse root."""
    honest = spawn(compile_c(BUSY, name="honest"))
    attack(OVERLAY, PROGRAM=compile_c(ANONYMOUS, name="hostile"))
    c = start("-p", "profile:u:199", "--no-cache", "-r", "600", "-g", "1")
    wait_for((c.path / "events-000002.parquet").exists)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")
    assert sum(ends(r, "hostile").values()) > 50


def wait_given_up(status, count):
    """Waits until the collector has to open all of the hostile files, and then until it has given up most of them."""
    wait_status(status, lambda s: s["reading"] >= count)
    wait_status(status, lambda s: s["reading"] <= count / 2)


def test_a_crowd_of_programs_that_never_answer_harms_no_other_program(start, spawn, compile_c, attack, tmp_path):
    """Ten programs of one user block at most two threads. A new program has all of its stacks."""
    program = compile_c(BUSY, name="hostile")
    shutil.copy(program, attack.source / "hostile")
    honest = spawn(compile_c(BUSY, name="honest"))
    attack(CROWD, COUNT=10, FROM=1, TO=1 << 40)
    status = tmp_path / "status"
    c = start("-p", "profile:u:199", "--no-cache", "--status", status)
    wait_given_up(status, 10)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")


def hanging(parent):
    """How many of its children even SIGKILL does not end, because they wait for a FUSE server."""

    def hangs(folder):
        try:
            state, ppid = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
        except OSError:
            return False
        return (state, int(ppid)) == ("D", parent)

    return sum(map(hangs, pathlib.Path("/proc").glob("[0-9]*")))


def test_a_user_makes_only_two_tests_of_file_systems_hang(start, spawn, compile_c, attack, tmp_path):
    """Children of the collector test two of eight file servers that have stopped answering, and hang."""
    program = compile_c(BUSY, name="hostile")
    shutil.copy(program, attack.source / "hostile")
    attack(CROWD, COUNT=8, FROM=0, TO=1 << 40)
    status = tmp_path / "status"
    c = start("-p", "profile:u:199", "--no-cache", "--status", status)
    wait_given_up(status, 8)
    assert hanging(c.pid) == 2
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "fresh")


def test_a_user_makes_only_a_few_workers_hang(start, spawn, compile_c, attack, tmp_path):
    """The collector reads the headers of twelve programs, and each has symbols that are never read."""
    program = compile_c(BUSY, "-Wl,--build-id=none", name="hostile")
    shutil.copy(program, attack.source / "hostile")
    begin, end = section(program, ".symtab")
    attack(CROWD, COUNT=12, FROM=begin, TO=end)
    status = tmp_path / "status"
    c = start("-p", "profile:u:199", "--no-cache", "--status", status)
    wait_status(status, lambda s: s["tables"]["none"] >= 12)
    assert 4 <= hanging(starter_of(c)) <= 8  # four, and what was idle or asked at the same time
    fresh = compile_c(BUSY, name="fresh")
    os.chown(fresh, 12345, 12345)
    wait_worked(0.5, spawn(fresh))
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "fresh")


def test_a_descriptor_that_never_answers_harms_no_other_program(start, spawn, compile_c, attack):
    """A read of process memory hangs if the process maps a file there and the file server hangs."""
    (attack.source / "page").write_bytes(bytes(4096))
    honest = spawn(compile_c(BUSY, name="honest"))
    attack(DESCRIBED, PROGRAM=compile_c(DESCRIPTOR, name="hostile"))
    c = start("-p", "profile:u:199", "--no-cache")
    time.sleep(4)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")


def test_a_debug_link_to_a_server_that_never_answers_harms_no_other_program(start, spawn, compile_c, attack, tmp_path):
    """A link next to the program leads through /proc into the user's own mounts. The overlay there does not refuse root."""
    honest = spawn(compile_c(BUSY, name="honest"))
    hostile = compile_c(BUSY, name="hostile")
    (tmp_path / "empty").touch()
    subprocess.run(["objcopy", "-S", f"--add-gnu-debuglink={tmp_path / 'empty'}", hostile], check=True)
    (attack.source / "empty").touch()
    p = attack(OVERLAY, PROGRAM=hostile)
    (tmp_path / "empty").unlink()
    (hostile.parent / "empty").symlink_to(f"/proc/{p.pid}/root/mnt/merged/empty")
    c = start("-p", "profile:u:199", "--no-cache")
    wait_worked(1, spawn(hostile))
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")


def test_a_path_to_a_server_that_never_answers_harms_no_other_program(start, spawn, compile_c, slow):
    """A program of another mount namespace has the path of a hanging file in this one. Whether both are the same is found out without the server."""
    honest = spawn(compile_c(BUSY, name="honest"))
    hostile = compile_c(BUSY, name="hostile")
    slow.hang()
    c = start("-p", "profile:u:199", "--no-cache")
    spawn("unshare", "-m", "sh", "-c", f"mount --bind {hostile.parent} {slow.at} && exec {slow.at}/hostile")
    time.sleep(2)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")
    assert sum(ends(r, "hostile").values()) > 50


def look_hangs(folder):
    """Whether listing what the process maps blocks in the kernel for half a second. The look ends by SIGKILL."""
    ls = subprocess.Popen(["ls", "-lL", folder / "map_files"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    blocked = 0
    while ls.poll() is None and blocked < 50:
        state = pathlib.Path(f"/proc/{ls.pid}/stat").read_text().rpartition(") ")[2][0]
        blocked = blocked + 1 if state == "D" else 0
        time.sleep(0.01)
    ls.kill()
    ls.wait()
    return blocked == 50


def wait_held(name):
    """Waits until the program holds the lock of its mappings. pgrep would hang, too: it reads command lines."""
    folder = next(p.parent for p in pathlib.Path("/proc").glob("[0-9]*/comm") if p.read_text().strip() == name)
    wait_for(lambda: look_hangs(folder))


def test_a_locked_address_space_harms_no_other_program(start, spawn, compile_c, attack):
    """The kernel reports the mappings of a process only under a lock that mmap(2) holds. The collector does not wait for it."""
    (attack.source / "page").write_bytes(bytes(4096))
    honest = spawn(compile_c(BUSY, name="honest"))
    attack(HELD, PROGRAM=compile_c(HOLDER, "-pthread", name="holder"))
    wait_held("holder")
    before = time.monotonic()
    c = start("-p", "profile:u:199,switch:u", "--ring-size", "64M", "--no-cache")
    assert time.monotonic() - before < 10
    fresh = spawn(compile_c(BUSY, name="fresh"))
    wait_worked(0.5, honest, fresh)
    r = end_in_time(c)
    check_samples(r)
    check_others(r, "honest", "fresh")
    assert "does not let its memory be read" not in r.stderr


def check_forks(attacker):
    """The kernel lets no process of the machine fork while it attaches or detaches a probe (dup_mmap_sem). Such a fork does
    not end by a signal, so the attack ends before the shell is waited for."""
    shell = subprocess.Popen(["bash", "-c", "(:); echo forked"], stdout=subprocess.PIPE, text=True)
    try:
        assert shell.communicate(timeout=5)[0] == "forked\n"
    except subprocess.TimeoutExpired:
        release(attacker)
        shell.communicate()
        pytest.fail("no process could fork")


def test_a_locked_address_space_keeps_no_probes_from_ending(start, spawn, compile_c, attack):
    """The kernel detaches under that lock. The collector ends without it, and other programs fork meanwhile."""
    (attack.source / "page").write_bytes(bytes(4096))
    honest = spawn(compile_c(BUSY, name="honest"))
    target = EXAMPLES / "spans_server"
    c = start("-p", f"profile:u:199,usdt:{target}", "--no-cache")
    p = attack(HELD, PROGRAM=compile_c(HOLDER, "-pthread", name="holder"), MAPPED=target)
    wait_held("holder")
    wait_worked(0.5, honest)
    child = c.pid
    r = end_in_time(c)
    check_forks(p)
    check_others(r, "honest")
    assert "has not detached the probes of programs yet" in r.stderr
    assert os.path.exists(f"/proc/{child}")
    release(p)
    wait_for(lambda: not os.path.exists(f"/proc/{child}"))


def test_a_locked_address_space_keeps_no_recording_with_probes_from_beginning(start, compile_c, attack):
    """Spans are recorded from when the lock is released."""
    (attack.source / "page").write_bytes(bytes(4096))
    target = EXAMPLES / "spans_async"
    p = attack(HELD, PROGRAM=compile_c(HOLDER, "-pthread", name="holder"), MAPPED=target)
    wait_held("holder")
    before = time.monotonic()
    c = start("-p", f"usdt:{target}", "--no-cache")
    assert time.monotonic() - before < 10
    check_forks(p)
    assert re.search(r"usdt: process \d+ keeps the lock", c.seen)
    release(p)
    while "attached now" not in c.seen:
        c.seen += c.next_line() or pytest.fail(c.seen)
    subprocess.run([target, "1", "1"], stdout=subprocess.DEVNULL, check=True)
    r = end_in_time(c)
    assert r.one("SELECT count(*) FROM events WHERE kind = 'trace_close'") > 0
