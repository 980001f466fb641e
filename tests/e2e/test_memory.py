# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector gives memory back after a burst, and stays within its limit."""
import os

from conftest import alone, needs_bpf, wait_for, wait_status
from crowds import anonymous_mb
from smallcgroup import small_cgroup  # noqa: F401

pytestmark = needs_bpf

CROWD = int(os.environ.get("STACKS_CROWD", 2000))  # processes, and half as many threads
BURST = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sink;
static void *runs(void *arg) { for (int i = 0; i < 20000; i++) sink++; return arg; }
int main(int argc, char **argv)
{
	int cnt = atoi(argv[1]);
	pthread_t thread;
	for (int i = 0; i < cnt; i++) {
		if (vfork() == 0) {
			execl("/bin/true", "true", (char *)0);
			_exit(1);
		}
		if (i % 4 == 3)
			while (wait(0) > 0)
				;
	}
	for (int i = 0; i < cnt / 2 && pthread_create(&thread, 0, runs, 0) == 0; i++)
		pthread_join(thread, 0);
	return argc == 2 ? 0 : 1;
}
"""
SPINS = """
volatile unsigned long sink;
void spins(void) { for (;;) sink++; }
void turns(void) { for (;;) sink--; }
int main(int argc, char **argv) { argc > 1 ? turns() : spins(); return argv == 0; }
"""
SYMBOLS = 120000  # of 80 bytes


def many_symbols():
    """Assembler code of functions that are never called. Their names take 10 MB."""
    return ".section .note.GNU-stack\n.text\n" + "".join(f".globl {n}\n.type {n},@function\n{n}: ret\n.size {n},1\n" for n in (f"f{i:079}" for i in range(SYMBOLS)))


def test_memory_comes_back_after_many_processes_and_threads(start, spawn, compile_c, tmp_path):
    status = tmp_path / "status"
    c = start("-p", "profile:u:499,switch:u,exec:u", "--status", status, "burst", "true")
    before = wait_status(status, lambda s: s["memory"]["anonymous"])["memory"]
    burst = spawn(compile_c(BURST, "-lpthread", name="burst"), CROWD)
    assert burst.wait() == 0
    wait_for(lambda: anonymous_mb(c.pid) < max(before["anonymous"] / 1e6 + 16, 64), 60)
    wait_status(status, lambda s: s["memory"]["processes"] < before["processes"] + CROWD / 10)
    r = c.stop()
    assert r.one("SELECT count(*) FROM events WHERE kind = 'exec' AND command = 'true'") + r.lost("exec") >= CROWD * 0.99


PARTS = ("names", "rules", "tables", "runtimes", "jit", "kernel_names", "unnamed", "waiting", "process_table", "thread_table", "batch", "other")


def test_the_parts_add_up_and_little_is_in_none_of_them(start, spawn, compile_c, tmp_path):
    (tmp_path / "many.s").write_text(many_symbols())
    spawn(compile_c(SPINS, tmp_path / "many.s", name="many"))
    status = tmp_path / "status"
    c = start("--preset", "always-on", "--status", status, "many")
    memory = wait_status(status, lambda s: s["memory"]["names"] > 80 * SYMBOLS and s["memory"]["kernel_names"] > 1e6 and s["memory"])["memory"]
    assert sum(memory[p] for p in PARTS) >= memory["anonymous"]
    wait_status(status, lambda s: s["memory"]["names"] > 80 * SYMBOLS and s["memory"]["other"] < 32 << 20)
    assert c.stop().returncode == 0


@alone  # what the limit evicts depends on the speed of the machine
def test_names_are_read_again_after_the_limit_evicted_them(start, spawn, compile_c, tmp_path):
    (tmp_path / "many.s").write_text(many_symbols())
    program = compile_c(SPINS, tmp_path / "many.s", name="many")
    status = tmp_path / "status"
    c = start("-p", "profile:u:499", "--max-memory", "16M", "--status", status, "many")
    evicted = 0
    for function in ([], ["turns"]):
        p = spawn(program, *function)
        evicted = wait_status(status, lambda s: s["memory"]["evicted"] > evicted + 80 * SYMBOLS)["memory"]["evicted"]
        p.kill()
        p.wait()
    r = c.stop()
    running = {tuple(names[:2]) for names, *_ in r.stacks("command = 'many'") if "main" in names}
    assert running == {("spins", "main"), ("turns", "main")}


@alone  # has 30 s to write batches in a full cgroup
def test_runs_in_a_cgroup_of_128_mb(small_cgroup, start, spawn, compile_c, tmp_path):
    """The rings, the maps and the files count there, too."""
    small_cgroup.lower(128 << 20)
    status = tmp_path / "status"
    c = start("--preset", "always-on", "--batch", "1s", "--status", status, preexec_fn=small_cgroup.enter)
    assert wait_status(status, lambda s: s["memory"]["anonymous"])["memory"]["limit"] == 64 << 20
    assert spawn(compile_c(BURST, "-lpthread", name="burst"), CROWD).wait() == 0
    wait_for(lambda: len(list(c.path.glob("events-*.parquet"))) >= 3)
    r = c.stop()
    assert r.returncode == 0 and r.one("SELECT count(*) FROM events WHERE kind = 'exec' AND command = 'true'") > 0
