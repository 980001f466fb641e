# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames without a name are grouped by function if their file is on this machine."""
import json
import re
import subprocess

import pytest

from exporter import CPU, Raw, build_id, pprof, run
from recordings import PERIOD, Batch, frame, kernel

SOURCE = """\
volatile int sink;
__attribute__((noipa)) static void inner(int n) { for (int i = 0; i < n; i++) sink += i; sink++; }
__attribute__((noipa)) static void outer(int n) { inner(n); sink++; inner(n + 1); sink++; }
int main(void) { outer(9); return sink == 0; }
"""


class Stripped:
    """A stripped program, and the names of its functions."""

    def __init__(self, compile_c):
        self.path = compile_c(SOURCE, "-Wl,--build-id")
        nm = subprocess.run(["nm", "-S", self.path], capture_output=True, text=True, check=True).stdout
        self.starts = {w[3]: int(w[0], 16) for w in map(str.split, nm.splitlines()) if len(w) == 4 and w[2] in "tT"}
        subprocess.run(["strip", "-g", "--strip-all", self.path], check=True)
        self.id = build_id(self.path)

    def place(self, function, offset, module=None, build_id=None):
        return frame(None, str(module or self.path), 0, self.starts[function] + offset, build_id=build_id or self.id)


@pytest.fixture
def stripped(compile_c):
    return Stripped(compile_c)


def recording(stripped, tmp_path, **fields):
    b = Batch()
    for offset in (1, 2, 3):
        b.profile(offset, [stripped.place("inner", offset, **fields), stripped.place("outer", 4 + offset, **fields), stripped.place("main", 5, **fields)], buildid=bytes.fromhex(stripped.id))
    return b.write(tmp_path / "r")


def test_profiles_group_by_function(stripped, tmp_path):
    rec = recording(stripped, tmp_path)
    name = {f: f"{stripped.path.name}+0x{start:x}" for f, start in stripped.starts.items()}
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    rows = [line.split() for line in pprof(tmp_path / "p", "-top", "-unit=ns").splitlines()]
    shown = {r[5]: (r[0], r[3]) for r in rows if len(r) == 6 and r[5] in name.values()}
    assert shown == {name["inner"]: (f"{3 * PERIOD}ns",) * 2, name["outer"]: ("0", f"{3 * PERIOD}ns"), name["main"]: ("0", f"{3 * PERIOD}ns")}
    places = {int(a, 16) for a in re.findall(r"^ +\d+: 0x([0-9a-f]+)", pprof(tmp_path / "p", "-raw"), re.M)}
    assert places == {stripped.starts[f] + n for f, ns in (("inner", (1, 2, 3)), ("outer", (5, 6, 7)), ("main", (5,))) for n in ns}
    run("pprof", CPU, "-c", "prog", "-r", rec, "--offset", "--output", tmp_path / "o")
    assert (f"{name['inner']}-2", f"{name['outer']}-6", f"{name['main']}-5") in Raw(tmp_path / "o").samples


def test_tables_group_by_function(stripped, tmp_path):
    rec = recording(stripped, tmp_path)
    rows = [line.split() for line in run("top", "-r", rec).stdout.splitlines()]
    assert [r[-1] for r in rows if stripped.path.name in r] == [f"+0x{stripped.starts[f]:x}" for f in ("inner", "main", "outer")]
    table = run("query", "-f", "time_by_stack", "-r", rec, "--format", "csv").stdout.splitlines()[1:]
    assert {line.split(",")[0] for line in table} == {f"+0x{start:x}" for f, start in stripped.starts.items() if f in ("inner", "outer", "main")}
    said = run("query", "SELECT function_at(NULL, NULL, NULL) IS NULL AS a, function_at('', '', 1) IS NULL AS b", "-r", rec, "--format", "csv")
    assert said.stdout == "a,b\ntrue,true\n"


def test_traces_group_by_function(stripped, tmp_path):
    q = tmp_path / "q.sql"
    q.write_text("SELECT 'instant' AS event, command AS name, pid, timestamp // 1000 AS timestamp, ustack AS stack FROM stacks")
    run("trace", q, "-r", recording(stripped, tmp_path), "--output", tmp_path / "t.json")
    assert f'"{stripped.path.name}+0x{stripped.starts["inner"]:x}"' in (tmp_path / "t.json").read_text()
    json.loads((tmp_path / "t.json").read_text())


def test_another_file_is_not_used(stripped, tmp_path):
    """A file is missing or was replaced. Addresses remain as they are; in tables, all of them are [no symbol]."""
    for fields in dict(module="/nobody/s/program"), dict(build_id="cd" * 20), dict(module="relative"):
        rec = recording(stripped, tmp_path / str(len(fields["module"]) if "module" in fields else 0), **fields)
        run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
        assert len(Raw(tmp_path / "p").samples) == 3
        assert "[no symbol]" in run("top", "-r", rec).stdout and "+0x" not in run("top", "-r", rec).stdout


def test_dash_b_is_looked_into_first(stripped, tmp_path):
    rec = recording(stripped, tmp_path, module="/elsewhere/program")
    run("pprof", CPU, "-c", "prog", "-b", stripped.path, "-r", rec, "--output", tmp_path / "p")
    shown = pprof(tmp_path / "p", "-top")
    assert all(f"program+0x{stripped.starts[f]:x}\n" in shown for f in ("inner", "outer", "main"))


def test_the_kernel_has_no_file(tmp_path):
    rec = Batch().profile(1, None, [frame(None, "[kernel]", 0, 0xFFFF_FFFF_8100_0010), *kernel("k")]).write(tmp_path / "r")
    assert "[no symbol]" in run("top", "-r", rec).stdout
