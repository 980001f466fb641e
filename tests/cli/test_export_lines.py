# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof: source lines and inlined functions."""
import os
import re
import shutil
import subprocess

import pytest

from exporter import CPU, SOURCE, Raw, build_id, run
from recordings import Batch, frame

def address_of(prog, symbol):
    out = subprocess.run(["nm", prog], capture_output=True, text=True, check=True).stdout
    return next(int(l.split()[0], 16) for l in out.splitlines() if l.endswith(f" {symbol}"))


@pytest.fixture
def traced(tmp_path, compile_c):
    """A program, and a recording of it in inner(), which is inlined into outer()."""
    prog = compile_c(SOURCE, name="traced")
    at = address_of(prog, "outer")
    f = frame("outer", str(prog), at, 0, build_id(prog), file_offset=at)
    rec = Batch().profile(1, [f], buildid=bytes.fromhex(build_id(prog))).write(tmp_path / "traced.rec")
    return prog, rec


def lines_of(path):
    raw = Raw(path)
    (location,) = raw.locations.values()
    return [re.sub(r"(\S+) \S*/(\S+?):(\d+).*", r"\1 \2:\3", l) for l in location[2]], raw


def test_lines_and_inlines_are_shown(traced, tmp_path):
    prog, rec = traced
    query = "sql/pprof/cpu_ustacks.sql"
    run("pprof", query, "-b", prog, "-r", rec, "--output", tmp_path / "p")
    assert lines_of(tmp_path / "p")[0] == ["outer prog1.c:8"]
    run("pprof", query, "-b", prog, "-i", "-r", rec, "--output", tmp_path / "p")
    lines, raw = lines_of(tmp_path / "p")
    assert lines == ["inner prog1.c:4", "outer prog1.c:8"]
    assert "[FN][FL][LN][IN]" in raw.mappings[0]


def test_a_moved_file_is_found_with_b(traced, tmp_path):
    prog, rec = traced
    moved = tmp_path / "moved"
    prog.rename(moved)
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert ":8" not in lines_of(tmp_path / "p")[0][0]
    run("pprof", CPU, "-c", "prog", "-b", moved, "-r", rec, "--output", tmp_path / "p")
    assert lines_of(tmp_path / "p")[0] == ["outer prog1.c:8"]


def test_another_build_gives_no_lines(traced, tmp_path, compile_c):
    prog, rec = traced
    other = compile_c(SOURCE.replace("return 0", "return 1"), name="other")
    shutil.copy(other, prog)
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert ":8" not in lines_of(tmp_path / "p")[0][0]


def test_a_binary_without_a_build_id_is_refused(traced, compile_c, tmp_path):
    prog = compile_c(SOURCE, "-Wl,--build-id=none", name="noid")
    p = run("pprof", "sql/pprof/cpu_ustacks.sql", "-b", prog, "-r", traced[1], status=1)
    assert str(prog) in p.stderr and "no build ID" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-b", "/etc/passwd", "-r", traced[1], status=1)
    assert "/etc/passwd" in p.stderr and "not an ELF" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-b", tmp_path / "nothing", "-r", traced[1], status=1)
    assert "No such file" in p.stderr
    os.mkfifo(tmp_path / "fifo")
    run("pprof", CPU, "-c", "prog", "-b", tmp_path / "fifo", "-r", traced[1], status=1)


def test_a_module_that_is_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    rec = Batch().profile(1, [frame("f", str(tmp_path / "fifo"))]).write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
