# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines and instructions of a function on the page of `stacksexport view`, with what they cost."""
import os
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter import SOURCE, build_id
from recordings import FRAME, PERIOD, SECOND, START, Batch, frame, names
from webclient import Server, paths


def address_of(prog, symbol):
    out = subprocess.run(["nm", prog], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in out.splitlines() if line.endswith(f" {symbol}"))


@pytest.fixture
def record(tmp_path, compile_c):
    """record(FLAG…) → a program that is in outer() three times, twice called by main(), and its recording."""

    def go(*flags, name="traced"):
        prog = compile_c(SOURCE, *flags, name=name)
        outer, main = address_of(prog, "outer"), address_of(prog, "main")
        b, build = Batch(), build_id(prog)
        leaf = frame("outer", str(prog), outer, 0, build, file_offset=outer)
        b.profile(0, [leaf, frame("main", str(prog), main, 1, build, file_offset=main + 1)], count=2)
        b.profile(10, [leaf])
        return prog, b.write(tmp_path / f"{name}.rec")

    return go


@pytest.fixture
def ask():
    running = []

    def go(rec, **params):
        s = Server(rec, env={**os.environ, **params.pop("env", {})})
        running.append(s)
        return s, s.get("source", **{"metric": "cpu", "name": "outer", **params})

    yield go
    for s in running:
        s.process.kill()
        s.process.communicate()


def test_lines_have_their_cost(record, ask, tmp_path):
    prog, rec = record()
    s, answer = ask(rec, module="traced")
    assert answer["kind"] == "source" and os.path.basename(answer["file"]).startswith("prog")
    cost = {int(line["n"]): line for line in answer["lines"]}
    assert cost[8]["self"] == cost[8]["total"] == 3 * PERIOD and "inner();" in cost[8]["text"]
    assert sum(line["self"] for line in answer["lines"]) == 3 * PERIOD
    called = s.get("source", metric="cpu", name="main", module="traced")
    assert sum(line["self"] for line in called["lines"]) == 0 and sum(line["total"] for line in called["lines"]) == 2 * PERIOD
    assert {p[-1] for p in paths(s.get("flame", metric="cpu", merge="line"))} == {f"inner {os.path.basename(answer['file'])}:4"}


def test_without_debug_information_instructions_have_it(record, ask):
    prog, rec = record("-g0", name="bare")
    s, answer = ask(rec, module="bare")
    assert answer["kind"] == "disassembly" and answer["file"] == str(prog) and answer["note"]
    assert answer["lines"][0]["n"] == "+0x0" and answer["lines"][0]["self"] == 3 * PERIOD
    assert sum(line["total"] for line in answer["lines"]) == 3 * PERIOD


def script_call(module, line):
    return dict(name="work", address=0, offset=0, module=str(module), build_id=None, file_offset=None, line=line)


def record_script(folder, script):
    """A recording of a function of `script` that is in its line 2 twice, and in line 3 once, where it calls another one."""
    b, leaf = Batch(), {**names("memcpy")[0], "line": None}
    b.profile(0, [script_call(script, 2)], count=2)
    b.profile(10, [leaf, script_call(script, 3)])
    b.write(folder)
    frames = pa.list_(pa.struct([*FRAME, pa.field("line", pa.int32())]))
    schema = pa.schema([pa.field("stack_id", pa.uint64(), nullable=False), pa.field("frames", frames, nullable=False)])
    stacks = [dict(stack_id=number, frames=frames) for number, frames in b.stacks.values()]
    pq.write_table(pa.Table.from_pylist(stacks, schema), folder / "stacktraces-000001.parquet")
    return folder


def test_a_function_of_a_script_has_the_lines_of_the_recording(ask, tmp_path):
    script = tmp_path / "work.py"
    script.write_text("def work():\n    x = 1\n    copy(x)\n")
    s, answer = ask(record_script(tmp_path / "rec", script), name="work", module="work.py")
    assert (answer["kind"], answer["file"]) == ("source", str(script))
    assert [(line["text"].strip(), line["self"], line["total"]) for line in answer["lines"]] == [
        ("def work():", 0, 0), ("x = 1", 2 * PERIOD, 2 * PERIOD), ("copy(x)", 0, PERIOD)]
    assert answer["note"] == "changed after the recording began: lines may not match"
    os.utime(script, ns=(START - SECOND, START - SECOND))
    assert s.get("source", metric="cpu", name="work", module="work.py")["note"] is None
    script.unlink()
    assert s.get("source", metric="cpu", name="work", module="work.py")["kind"] == "none"


def test_another_file_is_not_taken_for_it(record, ask, compile_c):
    prog, rec = record("-g0", name="replaced")
    os.replace(compile_c(SOURCE.replace("return 0", "return 1"), name="other"), prog)
    assert ask(rec, module="replaced")[1]["kind"] == "none"


def test_a_source_file_that_is_no_plain_file_is_not_read(record, ask, tmp_path):
    prog, rec = record()
    source = ask(rec, module="traced")[1]["file"]
    os.remove(source)
    os.mkfifo(source)
    assert ask(rec, module="traced")[1]["kind"] == "disassembly"


def test_without_objdump_it_says_so(record, ask, tmp_path):
    prog, rec = record("-g0", name="alone")
    answer = ask(rec, module="alone", env={"PATH": str(tmp_path / "nothing")})[1]
    assert answer["kind"] == "none" and "objdump" in answer["note"]


def test_hostile_paths_are_arguments_and_nothing_else(ask, tmp_path, compile_c):
    prog = compile_c(SOURCE, "-g0", name="x")
    hostile = tmp_path / "$(touch hacked); -x\n'\""
    os.replace(prog, hostile)
    at = address_of(hostile, "outer")
    b = Batch()
    b.profile(0, [frame("outer", str(hostile), at, 0, build_id(hostile), file_offset=at)])
    answer = ask(b.write(tmp_path / "hostile.rec"), module=hostile.name)[1]
    assert answer["kind"] == "disassembly" and answer["lines"][0]["self"] == PERIOD
    assert not (tmp_path / "hacked").exists() and not os.path.exists("hacked")


def test_functions_that_are_nowhere(record, ask):
    s, answer = ask(record()[1], module="traced", name="nothing")
    assert answer["kind"] == "none" and answer["lines"] == []
    assert s.get("source", metric="cpu")["kind"] == "none"
