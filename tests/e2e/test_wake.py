# SPDX-License-Identifier: GPL-2.0-or-later
"""wake: each wake-up has its waker, the woken thread and the stack."""
import subprocess

from conftest import EXAMPLES, needs_bpf

pytestmark = needs_bpf

ROUNDS = 100

# alpha wakes beta through a pipe, beta wakes gamma through a condition variable, gamma wakes alpha through a semaphore.
CHAIN = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NOINLINE __attribute__((noipa))
#define ROUNDS 100
static int pipes[2], turn;
static sem_t done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pid_t tids[3]; /* alpha, beta, gamma */
static NOINLINE void name(const char *who) {
  tids[who[0] - 'a' < 2 ? who[0] - 'a' : 2] = syscall(SYS_gettid);
  pthread_setname_np(pthread_self(), who); printf("%s %ld\n", who, syscall(SYS_gettid)); fflush(stdout); }
/* Whom one wakes must be asleep: there is no other place where it waits then. */
static void wait_asleep(int who) {
  char path[64], line[512], state = 0;
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tids[who]);
  while (state != 'S') { FILE *f = fopen(path, "r"); fgets(line, sizeof(line), f); fclose(f); state = strrchr(line, ')')[2]; } }
static NOINLINE void poke_beta(void) { if (write(pipes[1], "", 1) != 1) _exit(1); }
static NOINLINE void poke_gamma(void) {
  pthread_mutex_lock(&mutex); turn++; pthread_mutex_unlock(&mutex); pthread_cond_signal(&changed); }
static NOINLINE void poke_alpha(void) { sem_post(&done); }
static void *beta(void *a) { char c; name("beta");
  for (int i = 0; i < ROUNDS; i++) { if (read(pipes[0], &c, 1) != 1) _exit(1); usleep(300); wait_asleep(2); poke_gamma(); } return a; }
static void *gamma_(void *a) { name("gamma");
  for (int i = 0; i < ROUNDS; i++) { pthread_mutex_lock(&mutex); while (turn <= i) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex); usleep(300); wait_asleep(0); poke_alpha(); } return a; }
int main(void) { pthread_t t[2]; if (pipe(pipes)) return 1; name("alpha");
  pthread_create(&t[0], 0, beta, 0); pthread_create(&t[1], 0, gamma_, 0);
  while (!((volatile pid_t *)tids)[1] || !((volatile pid_t *)tids)[2]) usleep(100);
  for (int i = 0; i < ROUNDS; i++) { wait_asleep(1); poke_beta(); sem_wait(&done); usleep(300); }
  pthread_join(t[0], 0); pthread_join(t[1], 0); return 0; }
"""

INTERVALS = """
WITH slept AS (
  SELECT pid, state, list_transform(ustack, lambda f: f.name) AS slept_in, timestamp AS since,
    lead(timestamp - duration) OVER (PARTITION BY pid ORDER BY timestamp, duration DESC) AS until
  FROM stacks WHERE kind = 'switch'
)
"""


def test_a_chain_of_wakeups_is_recorded(record, compile_c):
    r = record("-p", "wake:uk", "--", compile_c(CHAIN, "-pthread", name="chain"))
    words = r.stdout.split()
    tids = dict(zip(words[0::2], map(int, words[1::2])))
    for waker, woken, by in (("alpha", "beta", "write"), ("beta", "gamma", "futex"), ("gamma", "alpha", "futex")):
        rows = r.rows("SELECT pid, tgid, thread, unwind, list_transform(ustack, lambda f: f.name), "
                      "list_transform(kstack, lambda f: f.name) FROM stacks "
                      "WHERE kind = 'wake' AND target = ? AND pid != 0", tids[woken])
        poked = [row for row in rows if f"poke_{woken}" in row[4]]
        # The woken thread is asleep unless the machine is slow.
        assert ROUNDS * 0.8 <= len(poked) <= ROUNDS, (waker, len(poked))
        assert len(rows) - len(poked) <= 2, rows  # the start or end of a thread
        for pid, tgid, thread, unwind, _, kernel in poked:
            assert (pid, tgid, thread, unwind) == (tids[waker], tids["alpha"], waker, "root")
            assert kernel[0] == "try_to_wake_up" and any(by in (name or "") for name in kernel), kernel
        # A timer ends usleep(), and no process owns it. A timer that interrupts a thread where BPF programs cannot run has
        # no row.
        assert r.rows("SELECT tgid, command, coalesce(thread, ''), ustack_id, count(*) >= ? FROM events "
                      "WHERE kind = 'wake' AND target = ? AND pid = 0 GROUP BY ALL", ROUNDS * 0.8, tids[woken]) == [
            (0, "", "", None, True)]


def test_wakeups_show_the_holder_of_the_lock(record):
    r = record("-p", "wake:u,switch:u", "--", EXAMPLES / "lock", 2, 4)
    waits = r.one(INTERVALS + "SELECT count(*) FROM slept WHERE list_contains(slept_in, 'lock_account') "
                  "AND state = 'sleeping' AND until IS NOT NULL")
    assert waits > 10
    # Every wait for the lock ends when its holder releases it.
    ended = r.rows(
        INTERVALS + "SELECT list_transform(w.ustack, lambda f: f.name) FROM slept s ASOF JOIN "
        "(SELECT * FROM stacks WHERE kind = 'wake') w ON w.target = s.pid AND w.timestamp <= s.until "
        "WHERE list_contains(slept_in, 'lock_account') AND s.state = 'sleeping' AND s.until IS NOT NULL")
    assert len(ended) == waits
    for names, in ended:
        assert names[0] == "__lll_lock_wake" and "transfer" in names and "clone3" in names[-1], names


def test_an_interrupt_is_not_the_interrupted_thread(start, spawn):
    spinner = spawn("taskset", "-c", 0, EXAMPLES / "cpu", 30)
    sleeper = spawn("taskset", "-c", 0, EXAMPLES / "sleeper", 3)
    c = start("-p", "wake:uk")
    sleeper.wait()
    r = c.stop()
    rows = r.rows("SELECT tgid, pid, ustack_id, list_transform(kstack, lambda f: f.name) FROM stacks "
                  "WHERE kind = 'wake' AND target = ?", sleeper.pid)
    timers = [row for row in rows if row[0] == 0]
    assert len(timers) > 10
    assert not [row for row in rows if row[0] == spinner.pid]
    for tgid, pid, ustack_id, names in timers:
        assert (tgid, pid, ustack_id) == (0, 0, None)
        # The stack begins with the interrupt, not with the interrupted code.
        assert names[0] == "try_to_wake_up" and names[-1].startswith(("asm_", "handle_softirqs", "__do_softirq")), names
        assert "do_syscall_64" not in names


def test_filters_look_at_both(start, spawn, tmp_path):
    writer = "import time\nprint(0)\nwhile True: time.sleep(.01); print(1, flush=True)"
    c = [start("-p", "wake:u", command, name=command) for command in ("cat", "python3")]
    pipe = subprocess.Popen(["/usr/bin/python3", "-c", writer], stdout=subprocess.PIPE)
    cat = spawn("/bin/cat", stdin=pipe.stdout)
    others = spawn(EXAMPLES / "lock", 30)
    for _ in range(100):
        cat.stdout.readline()
    by_cat, by_python = (x.stop() for x in c)
    others.kill()
    pipe.kill()
    pipe.wait()
    for r in (by_cat, by_python):
        # The row belongs to the waker, whichever of the two is recorded.
        assert r.one("SELECT count(*) FROM events WHERE command = 'python3' AND target = ?", cat.pid) >= 20
        assert r.one("SELECT count(*) FROM events WHERE command = 'lock'") == 0
    assert by_cat.one("SELECT count(*) FROM events WHERE target = ?", pipe.pid) == by_cat.one(
        "SELECT count(*) FROM events WHERE target = ? AND command = 'cat'", pipe.pid)
    assert by_python.one("SELECT count(*) FROM events WHERE target = ? AND tgid = 0", pipe.pid) >= 20
