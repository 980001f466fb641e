# SPDX-License-Identifier: GPL-2.0-or-later
"""Many processes, many mappings, many of both a second: nothing is lost, and memory has bounds."""
import pathlib
import time

from conftest import needs_bpf, wait_worked, worked
from crowds import JIT, MANY, OPENS, OPENED, anonymous_mb

pytestmark = needs_bpf

def lost(r):
    return r.one("SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost'")


def test_many_processes_with_many_mappings(start, spawn, compile_c):
    """500 processes with 28,000 mappings: what they share is kept once."""
    many = spawn(compile_c(MANY, name="many"), 500, 20)
    assert many.stdout.readline() == "ready\n"
    c = start("-p", "switch:u", "many")
    took = worked(c.proc.pid)
    time.sleep(1)
    memory = anonymous_mb(c.proc.pid)
    r = c.stop()
    assert took < 3  # seconds of CPU time; 0.5
    assert memory < 48
    assert lost(r) == 0
    assert r.one("SELECT count(DISTINCT tgid) FROM events WHERE command = 'many'") >= 500
    ended = dict(r.rows("SELECT unwind, count(*) FROM events WHERE command = 'many' AND ustack_id IS NOT NULL GROUP BY ALL"))
    # The kernel may have taken a page of a sleeper's stack out of memory.
    assert ended.keys() <= {"root", "truncated"} and ended["root"] > 9 * ended.get("truncated", 0), ended


def test_as_many_programs_as_start(start, spawn):
    """Each is gone when its files are looked for; nothing of them stays."""
    for _ in range(2):
        spawn("sh", "-c", "while :; do /bin/true; done")
    c = start("-p", "profile:u:499,exec:u", "sh")
    time.sleep(1.5)
    early = anonymous_mb(c.proc.pid)
    time.sleep(2.5)
    late = anonymous_mb(c.proc.pid)
    r = c.stop()
    assert lost(r) == 0, r.stderr
    assert r.one("SELECT count(*) FROM events WHERE kind = 'exec'") > 100
    assert late < early + 16 and late < 64


def test_code_that_comes_and_goes(start, spawn, compile_c):
    comes = spawn(compile_c(JIT, name="comes"))
    c = start("-p", "profile:u:499", "comes")
    wait_worked(0.1, comes)
    r = c.stop()
    pathlib.Path(f"/tmp/perf-{comes.pid}.map").unlink()
    assert lost(r) == 0
    assert r.one("SELECT count(*) FROM events WHERE command = 'comes'") > 5
    assert r.one("SELECT count(*) FROM events WHERE command = 'comes' AND unwind = 'no_map'") == 0
    made = [names for names, modules, *_ in r.stacks("command = 'comes'") if modules[0] in ("[jit]", "[anon]")]
    assert made
    for names in made:
        assert names[1] == "main" and names[-1] == "_start", names
    assert sum(names[0] == "coming" for names in made) / len(made) > 0.8, made


def test_a_library_that_is_loaded_ten_thousand_times(record, compile_c):
    lib = compile_c(OPENED, "-shared", "-fPIC", name="often.so")
    prog = compile_c(OPENS, "-ldl", name="opens")
    r = record("-p", "profile:u:499", "--", prog, lib)
    assert lost(r) == 0
    ends = dict(r.rows("SELECT unwind, count(*) FROM events WHERE command = 'opens' AND ustack_id IS NOT NULL GROUP BY 1"))
    assert ends["root"] / sum(ends.values()) > 0.98, ends


def test_the_same_path_in_two_containers(start, spawn, compile_c, tmp_path):
    """What is at the path is another file in each: names are those of the process's own."""
    body = "volatile unsigned long sink;\n__attribute__((noinline)) void %s(void) { for (int i = 0; i < 1000000; i++) sink++; }\nint main(void) { for (;;) %s(); }\n"
    place = tmp_path / "place"
    place.touch()
    programs = {}
    for name in ("first", "second"):
        program = compile_c(body % (name, name), name=f"the_{name}")
        p = spawn("unshare", "-m", "sh", "-c", f"mount --bind {program} {place} && exec {place}")
        programs[name] = p
    wait_worked(0.3, *programs.values())
    c = start("-p", "profile:u:199", "place")
    wait_worked(0.3, *programs.values())
    r = c.stop()
    for name, p in programs.items():
        leaves = {s[0][0] for s in r.stacks(f"tgid = {p.pid}")}
        assert leaves and leaves <= {name, "main"}, leaves
