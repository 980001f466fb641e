# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that a process generates at run time, from the files that the process writes: perf-PID.map, jit-PID.dump."""
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import BUILD, needs_bpf, wait_for, wait_worked

pytestmark = needs_bpf

PROGRAM = BUILD / "tests" / "jit_program"
MS = 600  # half of the time in one function, half in the other


@pytest.fixture
def no_maps_left():
    """Removes maps of ended processes: runtimes leave them behind."""
    before = set(pathlib.Path("/tmp").glob("perf-*.map"))
    yield
    for path in set(pathlib.Path("/tmp").glob("perf-*.map")) - before:
        if not pathlib.Path("/proc", path.stem.removeprefix("perf-")).exists():  # other tests' processes have maps, too
            path.unlink(missing_ok=True)


def in_jit(r, command):
    """[(frames leaf first, share of such samples before it)] of the samples in JIT code, by time."""
    rows = r.rows("SELECT timestamp, ustack FROM stacks WHERE command = ? AND kind = 'profile' AND ustack_id IS NOT NULL "
                  "ORDER BY timestamp", command)
    rows = [(at, stack) for at, stack in rows if stack[0]["module"] in ("[jit]", "[anon]")]
    assert rows
    return [(stack, i / len(rows)) for i, (_, stack) in enumerate(rows)]


def check_frames(stacks):
    """Each stack is spin < caller < main < …, complete and with names."""
    for stack, _ in stacks:
        assert [f["name"] for f in stack[1:3]] == ["caller", "run"], stack
        assert stack[-1]["name"] == "_start"
        for f in stack[:2]:
            assert f["module"] == "[jit]" and f["file_offset"] is None and f["build_id"] is None
            assert f["offset"] < 8
        assert stack[2]["module"] == str(PROGRAM) and stack[2]["build_id"]


def ids_of(r, name):
    return r.rows("SELECT DISTINCT ustack_id FROM stacks WHERE ustack[1].name = ?", name)


def test_a_jitdump_names_code_by_time(record, tmp_path):
    r = record("-p", "profile:u:997", "--", PROGRAM, MS, "dump", tmp_path)
    stacks = in_jit(r, "jit_program")
    check_frames(stacks)
    names = [stack[0]["name"] for stack, _ in stacks]
    assert set(names) == {"first", "second"}
    change = names.index("second")
    # Both functions run one after the other at the same address and are never mixed up. The caller has moved meanwhile.
    assert set(names[:change]) == {"first"} and set(names[change:]) == {"second"}
    assert abs(stacks[change][1] - 0.5) < 0.2
    assert len({stack[0]["address"] for stack, _ in stacks}) == 1
    assert {stack[1]["address"] - stack[0]["address"] for stack, _ in stacks} == {-512, 4096 - 512}


@pytest.mark.parametrize("where", ["frames", "listed"])
def test_generated_code_has_call_frame_information(record, no_maps_left, tmp_path, where):
    """In a jitdump, or in the list for gdb. The caller has no frame pointer. Its callers are missing for a moment, until
    that is read."""
    r = record("-p", "profile:u:997", "--", PROGRAM, 6 * MS, where, tmp_path)
    rows = r.rows("SELECT list_transform(ustack, lambda f: f.name), list_transform(ustack, lambda f: f.mark), unwind FROM stacks "
                  "WHERE command = 'jit_program' AND kind = 'profile' AND ustack[1].module IN ('[jit]', '[anon]') ORDER BY timestamp")
    whole = [(names, marks) for names, marks, status in rows if status == "root"]
    assert len(whole) / len(rows) > 0.9, rows[:3]
    for names, marks in whole[-10:]:
        assert names[0] in ("first", "second") and names[1:3] == ["caller", "run"] and names[-1] == "_start"
        assert set(marks[2:]) == {None}


def test_a_perf_map_names_code_as_soon_as_it_is_written(record, no_maps_left):
    r = record("-p", "profile:u:997", "--", PROGRAM, MS, "map")
    stacks = in_jit(r, "jit_program")
    check_frames(stacks)
    names = [stack[0]["name"] for stack, _ in stacks]
    # A perf map has no times. A sample shortly before the change may get the name of the later function.
    change = names.index("second")
    assert set(names[:change]) == {"first"} and abs(stacks[change][1] - 0.5) < 0.3
    assert set(names[change:]) == {"second"}


def test_ids_of_stacks_in_jit_code_are_the_same_in_every_process(record, no_maps_left):
    """Stack ids use names. Only the first samples of a place, before its name is found, differ."""
    r = record("-p", "profile:u:997", "--", "sh", "-c", f"{PROGRAM} {MS} map; {PROGRAM} {MS} map; :")
    common = r.rows("SELECT ustack_id FROM stacks WHERE command = 'jit_program' AND ustack[1].module = '[jit]' "
                    "GROUP BY ustack_id HAVING count(DISTINCT tgid) = 2")
    assert common
    by_name = r.one("SELECT count(*) FROM events WHERE ustack_id IN (SELECT unnest(?))", [i for i, in common])
    assert by_name / len(in_jit(r, "jit_program")) > 0.6


@pytest.fixture
def elsewhere():
    """The program in a folder that another /tmp does not hide."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield shutil.copy(PROGRAM, folder)


def test_in_a_container_the_names_are_its_own(start, spawn, elsewhere):
    """Another root folder with its own /tmp, and another process id inside."""
    c = start("-p", "profile:u:997", "jit_program")
    p = spawn("unshare", "--pid", "--mount", "--fork", "sh", "-c", f"mount -t tmpfs none /tmp && exec {elsewhere} {MS} map")
    assert p.wait() == 0
    r = c.stop()
    names = r.rows("SELECT DISTINCT ustack[1].module, ustack[1].name FROM stacks WHERE ustack[1].module IN ('[jit]', '[anon]')")
    assert set(names) == {("[jit]", "first"), ("[jit]", "second")}


NODE_SOURCE = """
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
function descend(n) { if (n) return descend(n - 1) + 1; return spin(50000); }
let x = 0;
while (process.cpuUsage().user < 1000000) x += descend(5);
"""


@pytest.mark.skipif(not shutil.which("node"), reason="no node in the PATH")
def test_a_perf_map_names_node_functions_without_the_runtime(record, tmp_path, no_maps_left):
    script = tmp_path / "busy.js"
    script.write_text(NODE_SOURCE)
    r = record("-p", "profile:u:499", "--no-runtimes", "--", "node", "--perf-basic-prof", "--no-turbo-inlining", script, cwd=tmp_path)
    frames = r.rows("SELECT f.module, f.name, count(*) FROM (SELECT unnest(ustack) AS f FROM stacks "
                    "WHERE command = 'node' AND ustack[1].module IN ('[jit]', '[anon]')) GROUP BY ALL")
    counts = {(module, name): n for module, name, n in frames}
    unnamed = sum(n for (module, _), n in counts.items() if module == "[anon]")
    assert unnamed / sum(counts.values()) < 0.01, counts
    for function in "spin", "descend":
        assert sum(n for (module, name), n in counts.items() if module == "[jit]" and f"{function} " in name) > 20, counts


JAVA_SOURCE = """
public class Named {
    static volatile long sink;
    static void spin() { for (int i = 0; i < 10000; i++) sink += i; }
    static void descend(int n) { if (n == 0) spin(); else descend(n - 1); }
    public static void main(String[] args) { for (;;) descend(5); }
}
"""


@pytest.mark.skipif(not shutil.which("jcmd"), reason="no JDK (Debian: default-jdk-headless)")
def test_a_perf_map_names_java_functions_without_the_runtime(start, spawn, tmp_path, no_maps_left):
    (tmp_path / "Named.java").write_text(JAVA_SOURCE)
    subprocess.run(["javac", "-d", tmp_path, tmp_path / "Named.java"], check=True)
    java = spawn("java", "-XX:+PreserveFramePointer", "-XX:-Inline", "-XX:TieredStopAtLevel=1", "-Xmx32m", "-cp", tmp_path, "Named")
    path = pathlib.Path(f"/tmp/perf-{java.pid}.map")


    def told():
        subprocess.run(["jcmd", str(java.pid), "Compiler.perfmap"], capture_output=True)
        return path.exists() and "Named.descend" in path.read_text()

    wait_for(told)
    c = start("-p", "profile:u:499", "--no-runtimes", "--pid", java.pid)
    wait_worked(0.5, java)
    r = c.stop()
    names = r.rows("SELECT list_transform(ustack, lambda f: f.name), count(*) FROM stacks "
                   "WHERE list_contains(list_transform(ustack, lambda f: f.module), '[jit]') GROUP BY ALL")
    named = sum(n for stack, n in names if [s and s.split(".")[-1].split("(")[0] for s in stack[:7]] == ["spin"] + ["descend"] * 6)
    assert named / sum(n for _, n in names) > 0.8, names
