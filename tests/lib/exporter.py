# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs stacksexport and reads its output."""
import os
import re
import subprocess

from conftest import EXPORT, ROOT

PPROF = ROOT / ".deps" / "bin" / "pprof"
COUNT = "SELECT count(*) AS n FROM events"
CPU = "sql/pprof/cpu_ustacks.sql"

SOURCE = """\
static volatile int sink;
static inline __attribute__((always_inline)) void inner(void)
{
	sink++;
}
__attribute__((noinline)) void outer(void)
{
	inner();
}
int main(void)
{
	outer();
	return 0;
}
"""


def run(*args, status=0, program=EXPORT, **kw):
    """Runs it in a folder without sql/, so that it finds the installed queries."""
    kw.setdefault("cwd", "/")
    kw.setdefault("text", True)
    p = subprocess.run([program, *map(str, args)], capture_output=True, timeout=120, **kw)
    assert p.returncode == status, p.stderr
    return p


def pprof(path, *args):
    """Runs google/pprof on a file. It must not print a complaint."""
    p = subprocess.run([PPROF, *args, path], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": "/tmp"})
    assert p.returncode == 0, p.stderr
    assert p.stderr == ""
    return p.stdout


class Raw:
    """The parsed output of `pprof -raw`."""

    def __init__(self, path):
        self.text = pprof(path, "-raw")
        head, rest = self.text.split("Samples:\n", 1)
        self.head = head
        samples, rest = rest.split("Locations\n", 1)
        locations, mappings = rest.split("Mappings\n", 1)
        lines = samples.splitlines()
        self.types = lines[0].split()
        self.mappings = mappings.splitlines()
        self.locations, last = {}, None
        for line in locations.splitlines():
            m = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)", line)
            if m:
                last = int(m[1])
                self.locations[last] = (int(m[2], 16), m[3], [m[4]])
            else:
                self.locations[last][2].append(line.strip())
        samples = [line.split(":") for line in lines[1:]]
        assert len({ids for _, ids in samples}) == len(samples), "one sample per stack"
        self.samples = {}  # two stacks may differ only in a place within a function
        for values, ids in samples:
            stack = tuple(self.name(int(i)) for i in ids.split())
            so_far = self.samples.get(stack, (0,) * len(self.types))
            self.samples[stack] = tuple(a + int(b) for a, b in zip(so_far, values.split(), strict=True))

    def name(self, location):
        return re.sub(r" \S+:\d+(:\d+)? s=\d+.*| :0(:0)? s=.*", "", self.locations[location][2][-1])


def query_profile(rec, tmp_path, sql, *args, status=0):
    (tmp_path / "q.sql").write_text(sql)
    p = run("pprof", tmp_path / "q.sql", "-r", rec, "--output", tmp_path / "q.pb.gz", *args, status=status)
    return Raw(tmp_path / "q.pb.gz") if status == 0 else p


def count(*args, **kw):
    return int(run("query", COUNT, "--format", "csv", *args, **kw).stdout.split()[1])


def build_id(prog):
    out = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", out)[1]
