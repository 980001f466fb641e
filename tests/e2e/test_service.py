# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector as a service. The tests play the service manager."""
import os
import pathlib
import re
import shlex
import signal
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import COLLECTOR, ROOT, needs_bpf, wait_for
from test_offcpu import INTERVALS
from test_sandbox import children, starters, status_of

pytestmark = needs_bpf


def states_of(pid):
    """The line of each thread's file `stat`, from the state on."""
    return [(task / "stat").read_text().rpartition(")")[2] for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]


@pytest.fixture
def manager(tmp_path):
    """The service manager's socket, and the environment in which it starts a service."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(tmp_path / "notify"))
        s.settimeout(120)
        yield s, dict(os.environ, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="1000000")


def wait_message(s, wanted):
    """Receives until this message, and returns the ones before it."""
    before = []
    while (message := s.recv(4096).decode()) != wanted:
        before.append(message)
    return before


def test_a_service_manager_learns_of_begin_life_and_end(start, manager):
    s, env = manager
    c = start("--quiet", "-p", "switch:n", wait=False, env=env)
    assert wait_message(s, "READY=1") == []
    wait_message(s, "WATCHDOG=1")
    wait_message(s, "WATCHDOG=1")
    c.proc.send_signal(signal.SIGTERM)
    assert "READY=1" not in wait_message(s, "STOPPING=1")
    r = c.finish()
    assert r.returncode == 0, r.stderr
    assert r.one("SELECT count(*) FROM events WHERE kind = 'switch'") > 0


def test_a_long_poll_does_not_starve_the_watchdog(start, manager):
    s, env = manager
    c = start("-p", "profile:n", "--poll", "1h", wait=False, env=env)
    wait_message(s, "READY=1")
    wait_message(s, "WATCHDOG=1")
    wait_message(s, "WATCHDOG=1")
    assert c.stop().returncode == 0


def test_a_launched_command_cannot_notify_the_service_manager(record, manager):
    s, env = manager
    record("-p", "switch:n", "--", "sh", "-c", "env >&2; exit ${NOTIFY_SOCKET:+1}${WATCHDOG_USEC:+2}", env=env)
    assert wait_message(s, "READY=1") == []


def users_of_workers(folder):
    return {user for starter in starters(folder) for worker in children(starter) for user in status_of(worker)["Uid"]}


def test_the_options_and_capabilities_of_the_unit_are_enough(spawn, manager, tmp_path):
    s, env = manager
    unit = (ROOT / "packaging/collector.service").read_text()
    argv = shlex.split(re.search(r"^ExecStart=(.*)", unit, re.M)[1])
    argv[argv.index("--dir") + 1] = tmp_path / "recording"
    argv += ["--status", tmp_path / "status", "--cache", tmp_path / "cache"]
    capabilities = re.search(r"^CapabilityBoundingSet=(.*)", unit, re.M)[1].lower().replace("cap_", "+").split()
    p = spawn("setpriv", "--bounding-set", ",".join(["-all", *capabilities]), "--no-new-privs", COLLECTOR, *argv[1:], env=env, stderr=-1)
    wait_message(s, "READY=1")
    wait_for(lambda: users_of_workers(tmp_path / "recording") == {"65534"})  # a new one has user 0 for a moment
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=120)
    assert (p.returncode, err) == (0, f"recording to {tmp_path}/recording\n")
    assert list((tmp_path / "recording").glob("events-*.parquet"))


def test_prometheus_reads_the_metrics(start, tmp_path):
    path = tmp_path / "metrics" / "stacks.prom"
    c = start("-p", "switch:n", "--metrics", path)
    families = {f.name: f for f in text_string_to_metric_families(wait_for(lambda: path.exists() and path.read_text()))}
    values = {(s.name, *s.labels.values()): s.value for f in families.values() for s in f.samples}
    assert values["stacks_collector_rows_total", "switch"] > 0 == values["stacks_collector_lost_events_total", "switch"]
    assert values["stacks_collector_cpu_seconds_total",] > 0 and values["stacks_collector_bpf_runs_total", "switch__switch"] > 0
    assert 0 < values["stacks_collector_memory_anonymous_bytes",] < values["stacks_collector_memory_limit_bytes",]
    assert all(f.documentation.endswith(".") and f.type in ("counter", "gauge") for f in families.values())
    documented = re.findall(r"`(stacks_collector_\w+)", (ROOT / "docs/operating.md").read_text())
    assert sorted(documented) == sorted({s.name for f in families.values() for s in f.samples})
    assert path.stat().st_mode & 0o777 == 0o644
    assert c.stop().returncode == 0 and not path.exists()


def test_sums_stay_right_while_the_budget_lowers_the_rate(record, tmp_path):
    program = """
import os, sys, time
null, end, count = os.open("/dev/null", os.O_WRONLY), time.monotonic() + 2.5, 0
while time.monotonic() < end:
    count += os.write(null, b"abc") == 3
open(sys.argv[1], "w").write(str(count))
"""
    r = record("-p", "vfs:n", "--budget", "1%", "--ring-size", "32M", "--", "python3", "-c", program, tmp_path / "count")
    rates = r.rows("SELECT amount, reason, duration > 0 FROM events WHERE kind = 'rate' AND lost_kind = 'vfs' ORDER BY timestamp")
    assert rates[0] == (2, "over_budget", True)
    rows, weight, written = r.rows("""SELECT count(*), sum(weight), sum(weight * amount) FROM events
        WHERE kind = 'vfs_write' AND file = 'null'""")[0]
    count = int((tmp_path / "count").read_text())
    assert rows < 0.9 * count
    assert abs(weight + r.lost("vfs") - count) < 0.03 * count and abs(written - 3 * weight) < 0.03 * 3 * count
    weights = {n for (n,) in r.rows("SELECT DISTINCT weight FROM events WHERE kind = 'vfs_write'")}
    assert weights <= {1, *(n for n, *_ in rates)} and len(weights) > 1


# Two threads wait for each other; one of them alternates a short wait with a long one. At the end one waits forever.
WAITERS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static int to[2], from[2], never[2];
static char c;
static double now(clockid_t id) { struct timespec t; clock_gettime(id, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *echo(void *unused)
{
	while (read(to[0], &c, 1) == 1)
		if (write(from[1], &c, 1) != 1)
			break;
	return NULL;
}
__attribute__((noinline)) void short_wait(void) { usleep(50); __asm__ volatile(""); }
__attribute__((noinline)) void long_wait(void) { usleep(400); __asm__ volatile(""); }
__attribute__((noinline)) void deadlock(void) { ssize_t n = read(never[0], &c, 1); __asm__ volatile("" : : "r"(n)); }
static void *sleeper(void *until)
{
	double waited[2] = { 0 }, a, b, d;
	while ((a = now(CLOCK_MONOTONIC)) < *(double *)until) {
		short_wait();
		b = now(CLOCK_MONOTONIC);
		long_wait();
		d = now(CLOCK_MONOTONIC);
		waited[0] += b - a;
		waited[1] += d - b;
	}
	printf("%f %f %d\n", waited[0], waited[1], gettid());
	fflush(stdout);
	deadlock();
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t, u;
	double until = now(CLOCK_MONOTONIC) + atof(argv[1]);
	struct rusage use;
	if (pipe(to) || pipe(from) || pipe(never))
		return 1;
	pthread_create(&t, NULL, echo, NULL);
	pthread_create(&u, NULL, sleeper, &until);
	while (now(CLOCK_MONOTONIC) < until + 0.1)
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			return 1;
	getrusage(RUSAGE_SELF, &use);
	printf("%f %ld\n", now(CLOCK_THREAD_CPUTIME_ID), use.ru_nvcsw + use.ru_nivcsw);
	fflush(stdout);
	deadlock();
}
"""


def test_switch_stays_exact_while_the_budget_leaves_out_rows(start, spawn, compile_c):
    program = compile_c(WAITERS, "-pthread", name="waiters")
    c = start("-p", "switch:u", "--budget", "1%")
    p = spawn(program, 4)
    short, long, sleeper = map(float, p.stdout.readline().split())
    cpu, switches = map(float, p.stdout.readline().split())
    wait_for(lambda: all("S" in stat for stat in states_of(p.pid)))
    r = c.stop()
    kept = r.one("SELECT count(*) FROM events WHERE kind = 'switch' AND tgid = ?", p.pid)
    assert r.one("SELECT max(amount) FROM events WHERE kind = 'rate' AND lost_kind = 'switch'") > 1
    assert kept + r.lost("switch") < 0.8 * switches
    # No time is lost. The clock of the thread also counts the BPF programs that run while it leaves the CPU.
    on, gaps, life = r.rows("SELECT sum(duration - coalesce(gaps, 0)) / 1e9, sum(gaps) / 1e9, max(timestamp) - min(timestamp - duration) "
                            "FROM events WHERE kind = 'switch' AND pid = ?", p.pid)[0]
    assert 0.5 * cpu < on < 1.03 * cpu and gaps > 0
    off = r.one(INTERVALS + "SELECT sum(off) FROM next WHERE pid = ?", p.pid)
    assert abs(off + 1e9 * (on + gaps) - life) < 1e6
    slept = r.one(INTERVALS + "SELECT sum(coalesce(gaps, 0) + CASE WHEN list_contains(list_transform(ustack, lambda f: f.name), 'deadlock') "
                  "THEN 0 ELSE off END) / 1e9 FROM next WHERE pid = ?", int(sleeper))
    assert 0.8 * (short + long) < slept < 1.1 * (short + long)
    # The rows that remain show what a thread waits for in the right proportions.
    seen = dict(r.rows(INTERVALS + """SELECT function, sum(off) / 1e9 FROM next, (VALUES ('short_wait'), ('long_wait')) AS f(function)
        WHERE tgid = ? AND list_contains(list_transform(ustack, lambda f: f.name), function) AND state != 'waiting' GROUP BY ALL""", p.pid))
    assert abs(seen["long_wait"] / sum(seen.values()) - long / (short + long)) < 0.1
    # Each thread that waits for good shows with its stack.
    assert r.one("SELECT count(DISTINCT pid) FROM stacks WHERE tgid = ? AND list_contains(list_transform(ustack, lambda f: f.name), 'deadlock')",
                 p.pid) == 2
