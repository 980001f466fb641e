# SPDX-License-Identifier: GPL-2.0-or-later
"""Java without flags: interpreted, compiled, inlined and native methods, with lines, between native frames."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import needs_bpf, wait_for

# Code that is new in the events of the last poll before a program ends cannot be read any more.
SOON = ["--poll", "20ms"]

pytestmark = [needs_bpf, pytest.mark.skipif(not shutil.which("javac"), reason="no JDK (Debian: default-jdk-headless)")]

RELEASE = "8"  # of the class files
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

# A program with methods that call one another only so: callee → {(caller, line of the call)}.
WORK = """
package app;
import java.lang.management.*;
import java.util.*;
import java.util.function.*;
public class Work {
    static volatile long sink;
    static long spin(int n) { long t = 0; for (int i = 0; i < n; i++) t += i * (t | 1); return t; }
    static int fib(int n) {
        if (n < 2) return (int) spin(20);
        return fib(n - 1)
            + fib(n - 2);
    }
    static long apply(IntUnaryOperator f) { return f.applyAsInt(3); }
    interface Shape { long area(); }
    static class Square implements Shape { public long area() { return spin(500); } }
    static class Circle implements Shape { public long area() { return spin(700); } }
    static class Line implements Shape { public long area() { return spin(300); } }
    static long areas(Shape[] shapes) {
        long t = 0;
        for (Shape s : shapes)
            t += s.area();
        return t;
    }
    static long fails(int n) {
        try {
            if (n >= 0) throw new IllegalStateException();
            return 0;
        } catch (IllegalStateException e) {
            return spin(500);
        }
    }
    static synchronized long locked() { return spin(900); }
    static void sort(Integer[] a) {
        Arrays.sort(a, (x, y) -> (int) (spin(9) & 1) * 0 + Integer.compare(x, y));
    }
    static void all() {
        Integer[] a = new Integer[60];
        for (int i = 0; i < a.length; i++) a[i] = i * 7919 % 61;
        sink += fib(14);
        sink += apply(x -> (int) spin(4000));
        sink += areas(new Shape[] { new Square(), new Circle(), new Line() });
        sink += fails(1);
        sink += locked();
        sort(a);
    }
    public static void main(String[] args) {
        long ns = Long.parseLong(args[0]) * 1000000;
        while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < ns)
            all();
    }
}
"""

CALLS = {
    "spin": {("fib", 10), ("Square.area", 16), ("Circle.area", 17), ("Line.area", 18), ("fails", 30), ("locked", 33),
             ("lambda$all$1", 41), ("lambda$sort$0", 35)},
    "fib": {("fib", 11), ("fib", 12), ("all", 40)},
    "apply": {("all", 41)},
    "lambda$all$1": {("apply", 14)},
    "lambda$sort$0": {("sort", 35)},
    "Square.area": {("areas", 22)},
    "Circle.area": {("areas", 22)},
    "Line.area": {("areas", 22)},
    "areas": {("all", 42)},
    "fails": {("all", 43)},
    "locked": {("all", 44)},
    "sort": {("all", 45)},
    "all": {("main", 50)},
}


def vms():
    """Those of this system, and those that STACKS_JAVAS names: commands, separated by colons."""
    found = sorted(str(p) for p in pathlib.Path("/usr/lib/jvm").glob("*/bin/java") if not p.parent.parent.is_symlink())
    return [[p] for p in found] + [c.split() for c in os.environ.get("STACKS_JAVAS", "").split(":") if c]


VMS = vms()
every_vm = pytest.mark.parametrize("vm", VMS, ids=[re.findall(r"j[a-z]+-?(\d+)|$", " ".join(v))[0] for v in VMS])


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    for name, source in SOURCES.items():
        (folder / f"{name}.java").write_text(source)
    files = [folder / f"{n}.java" for n in SOURCES]
    subprocess.run(["javac", "-Xlint:none", "--release", RELEASE, "-d", folder, *files], check=True)
    folder.chmod(0o755)
    return folder


@pytest.fixture
def run_java(record, classes):
    """run_java(*options, record=[…]) → the recording of a java program: its thread `busy` spins, and its first thread
    produces garbage."""

    def go(*options, by=()):
        vm = ["java", "-Xmx32m", "-XX:+UseParallelGC", "-XX:ParallelGCThreads=2", *options]
        return record("-p", "profile:u:499,switch:u", *by, "--", *vm, "-cp", classes, "Busy")

    return go


def frames(r, where):
    """[(frames leaf first, end of the walk, row count)]"""
    return r.rows(f"SELECT ustack, unwind, count(*) FROM stacks WHERE ustack_id IS NOT NULL AND {where} GROUP BY ALL")


def is_root_of_thread(stack):
    return stack[-2]["name"] == "start_thread" and stack[-1]["name"].lstrip("_").startswith("clone")


def is_java(f):
    return (f["mark"] or "").startswith("java_")


@pytest.mark.parametrize("options", [["-Xint"], ["-XX:+PreserveFramePointer", "-XX:-Inline"]], ids=["interpreted", "compiled"])
def test_without_runtimes_methods_are_walked_by_frame_pointer(run_java, options):
    stacks = frames(run_java(*options, by=["--no-runtimes"]), "thread = 'busy' AND kind = 'profile'")
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
    r = run_java()
    for thread, least in (("GC Thread#0", 50), ("GC Thread#1", 50), ("C1 CompilerThre", 5), ("C2 CompilerThre", 5)):
        stacks = frames(r, f"thread = '{thread}'")
        assert sum(n for *_, n in stacks) >= least, thread
        for stack, status, _ in stacks:
            # A stack page that was not touched yet cannot be copied.
            assert status == "truncated" or (status == "root" and is_root_of_thread(stack)), (status, stack)
        assert sum(n for _, status, n in stacks if status == "root") / sum(n for *_, n in stacks) > 0.95
    for stack, status, _ in frames(r, "thread = 'busy'"):
        assert status != "root" or is_root_of_thread(stack), stack


OPTIONS = [[], ["-Xint"], ["-XX:TieredStopAtLevel=1"], ["-XX:+UseSerialGC"]]
if os.environ.get("STACKS_JAVAS"):
    OPTIONS += [["-XX:-TieredCompilation"], ["-XX:+UseParallelGC"], ["-XX:+UseZGC"], ["-XX:+UseShenandoahGC"]]


def check_calls(stack):
    """Each method of the program was called by one that calls it, from the right line."""
    # The methods of a library, and the classes that the VM makes for lambdas, lie between.
    own = [(re.sub("^app[.]Work[.$]", "", f["name"]), f["line"]) for f in stack
           if is_java(f) and f["module"] == "app/Work.java" and "<init>" not in f["name"]]
    for (callee, _), caller in zip(own, own[1:]):
        assert caller in CALLS[callee], (callee, caller, [(f["name"], f["line"], f["mark"]) for f in stack])
    return own


@every_vm
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o[0].lstrip("-X:") if o else "plain")
def test_a_busy_program_has_whole_stacks_in_the_right_order(record, classes, vm, options):
    if options and vm is not VMS[0] and not os.environ.get("STACKS_JAVAS"):
        pytest.skip("one VM with each collector and compiler")
    if subprocess.run([*vm, *options, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this VM has no such collector")
    r = record(*SOON, "-p", "profile:u:997", "--", *vm, "-Xmx64m", *options, "-cp", classes, "app.Work", "800")
    cnt = whole = gone = inlined = 0
    for stack, status, n in frames(r, "kind = 'profile'"):
        own = check_calls(stack)
        if own:
            cnt += n
            whole += n * (status == "root" and own[-1][0] == "main")
            gone += n * any(f["mark"] == "java_gone" for f in stack)
            inlined += n * any(f["mark"] == "java_inlined" for f in stack)
    assert cnt > 200
    assert whole >= 0.99 * cnt and gone <= 0.01 * cnt, (cnt, whole, gone)
    assert (inlined > 0) == (options != ["-Xint"])


WAITS = """
import java.io.*;
import java.lang.invoke.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;
public class Waits {
    static final Object monitor = new Object(), never = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static void nap() { try { Thread.sleep(1000000); } catch (InterruptedException e) { } }
    static void deep(int n, Runnable r) { if (n == 0) r.run(); else deep(n - 1, r); }
    static void waits() { synchronized (never) { try { never.wait(); } catch (InterruptedException e) { } } }
    static void enters() { synchronized (monitor) { nap(); } }
    static void locks() { lock.lock(); }
    static void parks() { LockSupport.park(); }
    static void takes() { try { new LinkedBlockingQueue<Integer>().take(); } catch (InterruptedException e) { } }
    static void polls() { try { new SynchronousQueue<Integer>().poll(1000, TimeUnit.SECONDS); } catch (InterruptedException e) { } }
    static void streams() { Stream.of(1, 2).map(x -> { nap(); return x; }).collect(Collectors.toList()); }
    static void handles() {
        try { throw new IllegalStateException(); } catch (IllegalStateException e) { nap(); } finally { nap(); }
    }
    static void compares() { new TreeSet<Integer>((a, b) -> { nap(); return 0; }).add(1); }
    static void reflects() {
        try { Waits.class.getDeclaredMethod("nap").invoke(null); } catch (ReflectiveOperationException e) { }
    }
    static void invokes() {
        try {
            MethodHandles.lookup().findStatic(Waits.class, "nap", MethodType.methodType(void.class)).invokeExact();
        } catch (Throwable t) { }
    }
    static class Lazy { static int x; static { nap(); } }
    static void initializes() { Lazy.x = 1; }
    static void reads() { try { new FileInputStream(file).read(); } catch (IOException e) { } }
    static String file;
    public static void main(String[] args) throws Exception {
        file = args[1];
        for (int i = 0; i < 20000; i++) deep(30, () -> { }); /* is compiled then */
        List<Runnable> all = Arrays.asList(Waits::nap, Waits::waits, Waits::enters, Waits::locks, Waits::parks, Waits::takes,
            Waits::polls, Waits::streams, Waits::handles, Waits::compares, Waits::reflects, Waits::invokes,
            Waits::initializes, Waits::reads);
        List<Thread> threads = new ArrayList<>();
        lock.lock();
        synchronized (monitor) {
            for (int i = 0; i < 4 * all.size(); i++) {
                Runnable r = all.get(i % all.size());
                int n = i == 0 ? 1000 : i;
                Thread t = new Thread(null, () -> deep(n, r), "t" + i);
                t.setDaemon(true);
                t.start();
                threads.add(t);
            }
            Thread.sleep(1500);
            StringBuilder out = new StringBuilder();
            for (Thread t : threads) {
                out.append(t.getName());
                for (StackTraceElement e : t.getStackTrace())
                    out.append('\\t').append(e.getClassName()).append('.').append(e.getMethodName()).append('|')
                       .append(e.getFileName()).append('|').append(Math.max(e.getLineNumber(), 0));
                out.append('\\n');
            }
            try (FileWriter w = new FileWriter(args[0] + ".new")) { w.write(out.toString()); }
            new File(args[0] + ".new").renameTo(new File(args[0]));
            Thread.sleep(1000000);
        }
    }
}
"""


def same_in_every_run(name):
    """Names of hidden classes have an address, or in JDK 8 a number, and a number before it. In JDK 8 their code has
    numbers for lines."""
    name = re.sub(r"(\$\$Lambda)[^.|]*?/(?:0x)?[0-9a-f]+|/(?:0x)?[0-9a-f]+(?=[.])", r"\1", name)
    return re.sub(r"[|]<Unknown>[|]\d+$|[|]1\d{6}$", lambda m: m[0][:m[0].rindex("|")].replace("<Unknown>", "null") + "|0", name)


@every_vm
def test_stopped_threads_are_where_java_says(start, spawn, tmp_path, classes, vm):
    said, fifo = tmp_path / "said", tmp_path / "fifo"
    os.mkfifo(fifo)
    program = spawn(*vm, "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-Xmx64m", "-cp", classes, "Waits", said, fifo)
    wait_for(said.exists)
    expected = {}
    for line in said.read_text().splitlines():
        thread, *at = line.split("\t")
        expected[thread] = [tuple(same_in_every_run(f).split("|")) for f in at]
    r = start("-p", "switch:u", "--pid", str(program.pid)).stop()
    found = {}
    for thread, stack in r.rows("SELECT thread, ustack FROM stacks WHERE kind = 'switch' AND ustack_id IS NOT NULL"):
        found.setdefault(thread, [(f["name"], f["module"].split("/")[-1], str(f["line"] or 0)) for f in stack if is_java(f)])
    known = {t: [(n, m if m != "null" else None, ln) for n, m, ln in at] for t, at in expected.items()}
    differing = {}
    for t, at in known.items():
        mine = [(n, m if at[i:i + 1] and at[i][1] else None, ln) for i, (n, m, ln) in enumerate(found.get(t, []))]
        if mine != at:
            differing[t] = [(a, b) for a, b in zip(at + [None] * 99, mine + [None] * 99) if a != b][:6]
    assert len(known) == 56
    assert not differing, json.dumps(differing, indent=1)


# Half of the threads sleep in each round. Whoever wakes up has its callers on the heap.
VIRTUAL = """
import com.sun.management.OperatingSystemMXBean; import java.lang.management.ManagementFactory; import java.lang.reflect.Method;
public class Virtual {
    static volatile long sink; static volatile boolean over;
    static long spin(int n) { long t = 0; for (int i = 0; i < n; i++) t += i * (t | 1); return t; }
    static void blocks() {
        try { Thread.sleep(1); } catch (InterruptedException e) { }
        sink += spin(20000);
    }
    static void deep(int left) {
        if (left == 0) blocks();
        else deep(left - 1);
        sink++;
    }
    static void works() { sink += spin(100000); Thread.yield(); }
    static void task(int n) {
        while (!over)
            if (n % 2 == 0) works();
            else deep(n % 4 == 1 ? 10 : 300);
    }
    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        long cpuNs = Long.parseLong(args[0]) * 1000000;
        Thread[] all = new Thread[Integer.parseInt(args[1])];
        for (int i = 0; i < all.length; i++) {
            final int n = i;
            all[i] = (Thread) start.invoke(null, (Runnable) () -> task(n));
        }
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        while (system.getProcessCpuTime() < cpuNs) Thread.sleep(10);
        over = true;
        for (Thread t : all) t.join();
    }
}
"""

VIRTUAL_CALLS = {
    "spin": {("blocks", 8), ("works", 15)},
    "blocks": {("deep", 11)},
    "deep": {("deep", 12), ("task", 19)},
    "works": {("task", 18)},
    "task": {("lambda$main$0", 27)},
}
HEAP = "(virtual thread: callers on the heap)"


def has_virtual_threads(vm):
    text = subprocess.run([*vm, "-version"], capture_output=True, text=True).stderr
    return int(re.search(r'version "(\d+)', text)[1]) >= 21


@pytest.mark.parametrize("options", [[], ["-Xint"], ["-XX:TieredStopAtLevel=1"], ["-XX:+UseSerialGC"]], ids=lambda o: o[0].lstrip("-X:") if o else "plain")
@every_vm
def test_virtual_threads_have_their_frames_then_those_of_their_carrier(record, classes, vm, options):
    if not has_virtual_threads(vm):
        pytest.skip("no virtual threads before JDK 21")
    r = record(*SOON, "-p", "profile:u:997", "--", *vm, "-Xmx256m", *options, "-cp", classes, "Virtual", "4000", "4000")
    cnt = whole = heap = 0
    others = collections.Counter()
    for stack, status, n in frames(r, "kind = 'profile'"):
        names = [f["name"] for f in stack]
        own = [(f["name"].split(".")[-1], f["line"]) for f in stack if is_java(f) and f["module"] == "Virtual.java"]
        if any(re.search("freeze|thaw", name or "", re.IGNORECASE) for name in names):
            continue  # the VM was writing the callers' frames
        for (callee, _), caller in zip(own, own[1:]):
            assert caller in VIRTUAL_CALLS[callee], (callee, caller, names)
        if not own or own[-1][0] == "main":
            continue
        cnt += n
        heap += n * (HEAP in names)
        # The virtual thread's own frames end at its first function, or those that follow are on the heap.
        if (status == "root" and stack[-1]["module"].endswith("/libc.so.6") and "java.lang.VirtualThread.runContinuation" in names
                and ("java.lang.VirtualThread.run" in names or HEAP in names)):
            whole += n
        else:
            others[status, *names] += n
    assert cnt > 300 and heap > 0.1 * cnt, (cnt, heap)
    assert whole >= 0.99 * cnt, (cnt, whole, others.most_common(3))


# Each thread stays on its carrier: the VM's frames, which initialize a class, cannot be moved to the heap. The callers of
# first() can, because it has slept.
PINNED = """
import java.lang.reflect.Method;
public class Pinned {
    static void nap(int ms) { try { Thread.sleep(ms); } catch (InterruptedException e) { } }
    static class Lazy { static int x; static { nap(1000000); } }
    static class Other { static int x; static { nap(1000000); } }
    static void deep(int n, boolean other) {
        if (n > 0) deep(n - 1, other);
        else if (other) Other.x++;
        else Lazy.x++;
    }
    static void first(int n) { nap(5); deep(n, n > 100); }
    public static void main(String[] a) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        for (int i = 0; i < 2; i++) { final int n = 5 + i * 200; start.invoke(null, (Runnable) () -> first(n)); }
        Thread.sleep(1000000);
    }
}
"""


def dumped(vm, pid, path):
    """[[(method, line)]] of the virtual threads, by the VM itself."""
    subprocess.run([str(pathlib.Path(vm[0]).with_name("jcmd")), str(pid), "Thread.dump_to_file", "-format=json", "-overwrite", path],
                   check=True, capture_output=True)
    frame = re.compile(r"(?:[^/]*/)?(.*)[(][^:]*?:?(\d*)[)]$")
    return [[frame.match(f).groups() for f in t["stack"]]
            for c in json.loads(path.read_text())["threadDump"]["threadContainers"] for t in c["threads"]
            if any("Pinned.deep" in f for f in t["stack"])]


@every_vm
def test_virtual_threads_that_wait_on_their_carrier_are_where_java_says(start, spawn, tmp_path, classes, vm):
    if not has_virtual_threads(vm) or not pathlib.Path(vm[0]).with_name("jcmd").exists():
        pytest.skip("no virtual threads, or no jcmd")
    program = spawn(*vm, "-Xmx64m", "-cp", classes, "Pinned")
    wait_for(lambda: len(dumped(vm, program.pid, tmp_path / "dump")) == 2)
    expected = dumped(vm, program.pid, tmp_path / "dump")
    if not all("Pinned$Lazy.<clinit>" in str(s) or "Pinned$Other.<clinit>" in str(s) for s in expected):
        pytest.skip("this VM moves such frames")
    r = start("-p", "switch:u", "--pid", str(program.pid)).stop()
    found = []
    for (stack,) in r.rows("SELECT ustack FROM stacks WHERE kind = 'switch' AND ustack_id IS NOT NULL"):
        if any(f["name"] == "Pinned.deep" for f in stack):
            names = [f["name"] for f in stack]
            own = stack[:names.index(HEAP)]
            found.append([(f["name"], str(f["line"] or "")) for f in own if is_java(f)])
            assert names.index("java.lang.VirtualThread.runContinuation") > len(own)
    # The oldest frames are on the heap.
    assert len(found) == 2 and {len(e) > 100 for e in expected} == {True, False}
    for mine in found:
        assert any(mine == e[:len(mine)] and 0 < len(e) - len(mine) < 4 for e in expected), (mine, expected)


SOURCES = {"Busy": SOURCE, "Work": WORK, "Waits": WAITS, "Virtual": VIRTUAL, "Pinned": PINNED}
