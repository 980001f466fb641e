# SPDX-License-Identifier: GPL-2.0-or-later
"""Java: the VM's own code is walked by call-frame information, interpreted and compiled methods by frame pointers."""
import shutil
import subprocess

import pytest

from conftest import needs_bpf

pytestmark = [needs_bpf, pytest.mark.skipif(not shutil.which("javac"), reason="no JDK (Debian: default-jdk-headless)")]

DEPTH = 20
JAVA_FRAMES = 1 + (DEPTH + 1) + 1 + 1  # spin, descend, run, and the stub of the VM that calls into Java

SOURCE = """
import java.lang.management.*;
public class Busy extends Thread {
    static volatile boolean done;
    static volatile long sink;
    static Object[] kept = new Object[1000];
    static void spin() { for (int i = 0; i < 10000; i++) sink += i; }
    static void descend(int n) { if (n == 0) spin(); else descend(n - 1); }
    public void run() { while (!done) descend(%d); }
    public static void main(String[] args) throws Exception {
        Busy busy = new Busy();
        busy.setName("busy");
        busy.start();
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        while (threads.getThreadCpuTime(busy.getId()) < 1000000000L)
            for (int i = 0; i < kept.length; i++) kept[i] = new byte[4000];
        done = true;
        busy.join();
    }
}
""" % DEPTH


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    (folder / "Busy.java").write_text(SOURCE)
    subprocess.run(["javac", "-d", folder, folder / "Busy.java"], check=True)
    return folder


@pytest.fixture
def run_java(record, classes):
    """run_java(*options) → the recording of a java program whose thread `busy` spins and whose first thread produces
    garbage."""

    def go(*options):
        vm = ["java", "-Xmx32m", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=2", *options]
        return record("-p", "profile:u:499,switch:u", "--", *vm, "-cp", classes, "Busy")

    return go


def frames(r, where):
    """[(frames leaf first, end of the walk, row count)]"""
    return r.rows(f"SELECT ustack, unwind, count(*) FROM stacks WHERE ustack_id IS NOT NULL AND {where} GROUP BY ALL")


def is_root_of_thread(stack):
    return stack[-2]["name"] == "start_thread" and stack[-1]["name"].lstrip("_").startswith("clone")


@pytest.mark.parametrize("options", [["-Xint"], ["-XX:+PreserveFramePointer", "-XX:-Inline"]], ids=["interpreted", "compiled"])
def test_java_methods_are_walked_by_frame_pointer(run_java, options):
    stacks = frames(run_java(*options), "thread = 'busy' AND kind = 'profile'")
    in_java = [(stack, status, n) for stack, status, n in stacks if [f["module"] for f in stack[:2]] == ["[anon]", "[anon]"]]
    assert sum(n for *_, n in in_java) > 50
    deep = 0
    for stack, status, n in in_java:
        java = [f["module"] for f in stack].count("[anon]")
        assert status == "root" and is_root_of_thread(stack), stack
        # The methods are on top. The VM called them, and libc called the VM.
        assert {f["module"] for f in stack[:java]} == {"[anon]"}
        assert {f["module"].split("/")[-1] for f in stack[java:-2]} == {"libjvm.so"}
        assert {f["module"].split("/")[-1] for f in stack[-2:]} == {"libc.so.6"}
        # Frames found by frame pointer are marked. That includes the VM's first frame, because its callee has no call-frame
        # information.
        # The leaf's caller may be missing: the leaf may not have set its frame pointer yet.
        assert [f["mark"] for f in stack] == [None, "guess"] + ["frame_pointer"] * (java - 1) + [None] * (len(stack) - java - 1)
        deep += n if java == JAVA_FRAMES else 0
    assert deep / sum(n for *_, n in in_java) > 0.9, [len(s) for s, *_ in in_java]


def test_the_vms_own_threads_need_no_frame_pointers(run_java):
    r = run_java("-XX:-PreserveFramePointer")
    for thread, least in (("GC Thread#0", 50), ("GC Thread#1", 50), ("C1 CompilerThre", 5), ("C2 CompilerThre", 5)):
        stacks = frames(r, f"thread = '{thread}'")
        assert sum(n for *_, n in stacks) >= least, thread
        for stack, status, _ in stacks:
            # Only a leaf may be generated code: the VM routine that flushes compiled code.
            assert "[anon]" not in {f["module"] for f in stack[1:]}, stack
            # A stack page that was not touched yet cannot be copied.
            assert status == "truncated" or (status == "root" and is_root_of_thread(stack)), (status, stack)
        assert sum(n for _, status, n in stacks if status == "root") / sum(n for *_, n in stacks) > 0.95
    # A compiled method may use rbp for anything. A walk through it ends early, or at the root with frames left out.
    for stack, status, _ in frames(r, "thread = 'busy'"):
        assert status != "root" or is_root_of_thread(stack), stack
