# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of the unwinder beside others: per frame, at first sight of a file, of its tables, and in a running collector."""
import pathlib
import subprocess
import time

from measure import BUILD, ROOT, SETTLED, Run, row, say

SAMPLES = 400
SECONDS = 10
SWITCHES = 80000
LLVM = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"
ELF_FOLDERS = ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec"]
FUNCTION = """int f%d(int *a, int n) {
	int s = %d;
	for (int i = 0; i < n; i++) {
		s += a[i] * %d;
		switch (a[i] & 7) { case 0: s += a[i + 1]; break; case 1: s *= 3; break; case 3: s -= i; break; default: s ^= a[i]; }
	}
	return s;
}
"""


def built(name):
    path = BUILD / "bench" / name
    subprocess.run(["make", "-s", f"BUILD={BUILD}", str(path)], cwd=ROOT, check=True)
    return path


def output(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=True).stdout


def programs(tmp):
    source = tmp / "large.c"
    source.write_text("".join(FUNCTION % (i, i, i + 3) for i in range(6000)))
    cc1 = output("gcc", "-print-prog-name=cc1").strip()
    return {
        "python3": ["/usr/bin/python3", "-c", "import json\nd=[{'id':i,'t':['a','b']} for i in range(500)]\nwhile 1: json.loads(json.dumps(d,indent=1))"],
        "perl": ["perl", "-e", "while(1){my %h; $h{$_ % 997} .= $_ for 1..20000; my @k = sort keys %h}"],
        "sqlite3": ["sqlite3", ":memory:", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(DISTINCT x*x%1000003) FROM c"],
        "node": ["node", "-e", "while (1) JSON.parse(JSON.stringify([...Array(1000).keys()].map(x => ({x, y: String(x)}))))"],
        "gdb": ["gdb", "-q", "-batch", "-ex", "python\nwhile True: gdb.parse_and_eval('1+1')\nend"],
        "cc1": [cc1, "-O2", "-quiet", str(source), "-o", "/dev/null"],
        "clang": ["clang", "-O2", "-c", str(source), "-o", "/dev/null"],
        "xz": ["sh", "-c", f"exec xz -9 -c {LLVM} >/dev/null"],
        "git": ["sh", "-c", f"cd {ROOT}; exec git grep --threads=1 -c -E '(a|b).*(c|d).*(e|f).*(g|h)$' $(git rev-list HEAD)"],
    }


def record(tmp):
    """Snapshots of every program, as the collector takes them. A program that ends too early has none."""
    files = []
    for name, argv in programs(tmp).items():
        file = tmp / name
        if subprocess.run([built("record_snapshots"), file, str(SAMPLES), "profile:u:997", *argv], capture_output=True).returncode == 0:
            files.append(file)
    return files


def figures(fields):
    return {name: float(value) for name, _, value in (f.partition("=") for f in fields if "=" in f)}


def against(ns):
    """Our result, and the factor of each other unwinder."""
    ours = ns.pop("ours")
    return ", ".join(f"{name} {value:.0f} ({value / ours:.1f} ×)" for name, value in ns.items())


def walks(tmp):
    say("walks of recorded snapshots, by each unwinder in turn")
    files = record(tmp)
    out = output(built("walks"), *files)
    roots = [line.split("\t") for line in out.splitlines() if line.startswith("root")]
    row("stacks that reach the root", f"{100 * sum(int(r[3]) for r in roots) / sum(int(r[2]) for r in roots):.2f} % of {sum(int(r[2]) for r in roots)}")
    first = {}
    where = {"l2": "in the second-level cache", "warm": "one program's", "dram": "all programs' mixed, from memory"}
    for line in out.splitlines():
        what, name, *fields = line.split("\t")
        ns = figures(fields)
        if what in where:
            row(f"a frame, {name} ({float(fields[1]):.0f} frames, {int(fields[2]) / 1024:.1f} KiB), {where[what]}", f"{ns['ours']:.1f} ns; {against(ns)}")
        elif what == "first":
            first = {who: first.get(who, 0) + us for who, us in ns.items()}
            row(f"the first 100 stacks, {name}, from opening its files on", f"{ns['ours'] / 1000:.2f} ms; others in µs: {against(ns)}")
    row("the first 100 stacks of each of them, together", f"{first['ours'] / 1000:.2f} ms; others in µs: {against(first)}")


def elf_files():
    found = output("find", *ELF_FOLDERS, "-type", "f", "(", "-perm", "/111", "-o", "-name", "*.so*", ")", "-print0").split("\0")
    return [f for f in found if f]


def tables():
    say("tables of every ELF file")
    detailed = [f for f in (LLVM, "/usr/bin/node", "/usr/bin/gdb", "/usr/lib/x86_64-linux-gnu/libc.so.6") if pathlib.Path(f).exists()]
    for line in output(built("tables"), len(detailed), *detailed, *elf_files()).splitlines():
        name, *numbers = line.split("\t")
        files, rows, size, code, ms, libdw_ms = map(float, numbers)
        what = f"the tables of all {files:.0f} ELF files" if name == "all" else f"the table of {pathlib.Path(name).name}, median of 15 by turns"
        row(what, f"{ms:.1f} ms, {1e6 * ms / rows:.0f} ns a row" + (f"; libdw row by row {libdw_ms:.0f} ms ({libdw_ms / ms:.0f} ×)" if libdw_ms else ""))
        row("… size", f"{size / rows:.2f} bytes a row, {size / 1024 / (code / 2**20):.0f} KB per MB of code")


def session(tmp):
    say("rows of recorded switches, without the kernel's part")
    file = tmp / "pace"
    output(built("record_snapshots"), file, 2000, "switch:u", built("pace"), 20000, SECONDS)
    ns = figures(output(built("batchrows"), 400000, SWITCHES, tmp / "rows", file).split())
    row("a row of switch:u from the ring on, without the kernel's part", f"{ns['reader']:.0f} ns; with writing it, in another thread, {ns['all']:.0f} ns")
    files = [tmp / name for name in ("python3", "sqlite3")]  # from record()
    ns = figures(output(built("batchrows"), 20000, 200, tmp / "samples", *files).split())
    row("a sample of python3 or sqlite3, nearly each another stack, 200 a second", f"{ns['reader']:.0f} ns; with writing it {ns['all']:.0f} ns")


def daemon(tmp):
    say(f"the collector at {SWITCHES} switches a second")
    r = Run(tmp / "switch", "-p", "switch:u")
    start = time.monotonic()
    pace = subprocess.Popen([built("pace"), str(SWITCHES), str(SETTLED + SECONDS)])
    r.settle()
    settled = time.monotonic()
    pace.wait()
    end = time.monotonic()
    r.stop()
    per_s, share = r.rows / (end - start), r.cpu_used / (end - settled)
    row(f"switch:u at {per_s:.0f} rows/s: collector's CPU after its first two seconds", f"{100 * share:.1f} % of a core, {1e6 * share / per_s:.2f} µs per row")
    row("… lost", f"{r.lost} of {r.rows + r.lost}")


def measure(tmp):
    walks(tmp)
    tables()
    session(tmp)
    daemon(tmp)
