# SPDX-License-Identifier: GPL-2.0-or-later
"""stacktrace on recordings of programs that make code while they run, after these have ended."""
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD
from perfdata import PERF, STACKTRACE, Samples, capture_of, needs_perf, pprof, record, run

pytestmark = needs_perf

PROGRAM = BUILD / "tests" / "jit_program"
MS = 600  # half of it in "first", half in "second", which is in the same place
MONOTONIC = ["-k", "mono"]  # the clock of jitdumps


@pytest.fixture
def no_maps_left():
    before = set(pathlib.Path("/tmp").glob("perf-*.map"))
    yield
    for path in set(pathlib.Path("/tmp").glob("perf-*.map")) - before:
        path.unlink()


def stacks(path):
    """[(names leaf first, samples)] of a profile."""
    raw = pprof(path, "-raw", "-symbolize=none")
    names = {int(i): name for i, name in re.findall(r"^ +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(\S+)", raw, re.M)}
    return [([names[int(i)] for i in ids.split()], int(count))
            for count, ids in re.findall(r"^ +(\d+) +\d+: ([\d ]+)$", raw, re.M)]


def in_jit(path):
    """How many samples "first" and "second" have, all of whose stacks are whole: {name: count}."""
    found = {}
    for names, count in stacks(path):
        at = next((i for i, name in enumerate(names) if name in ("first", "second")), None)
        if at is None:
            continue
        assert names[at + 1:at + 4] == ["caller", "run", "main"] and names[-1] == "_start", names
        found[names[at]] = found.get(names[at], 0) + count
    return found


@pytest.mark.parametrize("how", ["dump", "frames"])
def test_a_jitdump_that_was_mapped(tmp_path, how):
    """Names by the time of the sample; with `frames` there is no frame pointer to the caller, but call-frame information."""
    data = record(tmp_path / "perf.data", PROGRAM, MS, how, tmp_path, options=MONOTONIC)
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    found = in_jit(tmp_path / "prof.pb.gz")
    assert found.keys() == {"first", "second"}
    assert min(found.values()) > 0.2 * sum(found.values()) > 10
    (tmp_path / "in.syscap").write_bytes(capture_of(Samples(data)))  # whose clock is always that of dumps
    run("-i", tmp_path / "in.syscap", "-o", tmp_path / "again.pb.gz")
    assert in_jit(tmp_path / "again.pb.gz") == found


def test_a_jitdump_by_another_clock(tmp_path):
    """Who was there last is all that can be said."""
    data = record(tmp_path / "perf.data", PROGRAM, MS, "frames", tmp_path)
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    assert in_jit(tmp_path / "prof.pb.gz").keys() == {"second"}


def test_a_jitdump_below_a_sysroot(tmp_path):
    """Where another machine's files are; there, only there, and not through a link out of it."""
    data = record(tmp_path / "perf.data", PROGRAM, MS, "frames", tmp_path, options=MONOTONIC)
    dump, = tmp_path.glob("jit-*.dump")
    root = tmp_path / "root"
    place = root / str(dump)[1:]
    place.parent.mkdir(parents=True)
    args = "--sysroot", root, "-i", data, "-o", tmp_path / "prof.pb.gz"
    run(*args)
    assert in_jit(tmp_path / "prof.pb.gz") == {}
    place.symlink_to(dump)
    run(*args)
    assert in_jit(tmp_path / "prof.pb.gz") == {}
    place.unlink()
    shutil.move(dump, place)
    run(*args)
    assert in_jit(tmp_path / "prof.pb.gz").keys() == {"first", "second"}


def test_a_perf_map_that_was_left(tmp_path, no_maps_left):
    data = record(tmp_path / "perf.data", PROGRAM, MS, "map")
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    assert in_jit(tmp_path / "prof.pb.gz").keys() == {"second"}


def test_behind_a_recorder(tmp_path):
    """The process is there for most of the time, and has gone when its last samples come."""
    recorder = [PERF, "record", "-q", "-e", "cpu-clock", "-F", "997", "-k", "mono", "--call-graph", "dwarf", "-o", "-", "--",
                str(PROGRAM), str(2 * MS), "frames", str(tmp_path)]
    with subprocess.Popen(recorder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as perf:
        subprocess.run([STACKTRACE, "-o", tmp_path / "prof.pb.gz"], stdin=perf.stdout, check=True, timeout=60)
    found = {}
    for names, count in stacks(tmp_path / "prof.pb.gz"):
        if "caller" in names:
            found[names[-1]] = found.get(names[-1], 0) + count
    assert found["_start"] > 0.5 * sum(found.values()) > 20
