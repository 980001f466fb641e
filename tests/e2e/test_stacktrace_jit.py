# SPDX-License-Identifier: GPL-2.0-or-later
"""stacktrace on recordings of programs that generate code at run time, after the programs have ended."""
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD
from perfdata import PERF, STACKTRACE, Samples, capture_of, needs_perf, pprof, record, run

pytestmark = needs_perf

PROGRAM = BUILD / "tests" / "jit_program"
MS = 600  # half of the time in "first", half in "second" at the same address
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
    """The number of samples of "first" and "second": {name: count}. All of their stacks must be complete."""
    found = {}
    for names, count in stacks(path):
        at = next((i for i, name in enumerate(names) if name in ("first", "second")), None)
        if at is None:
            continue
        assert names[at + 1:at + 4] == ["caller", "run", "main"] and names[-1] == "_start", names
        found[names[at]] = found.get(names[at], 0) + count
    return found


@pytest.mark.parametrize("how", ["dump", "frames"])
def test_a_mapped_jitdump_names_code_by_time(tmp_path, how):
    """Names by the time of the sample. With `frames` the caller has no frame pointer but call-frame information."""
    data = record(tmp_path / "perf.data", PROGRAM, MS, how, tmp_path, options=MONOTONIC)
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    found = in_jit(tmp_path / "prof.pb.gz")
    assert found.keys() == {"first", "second"}
    assert min(found.values()) > 0.2 * sum(found.values()) > 10
    (tmp_path / "in.syscap").write_bytes(capture_of(Samples(data)))  # its clock is always that of the dumps
    run("-i", tmp_path / "in.syscap", "-o", tmp_path / "again.pb.gz")
    assert in_jit(tmp_path / "again.pb.gz") == found


def test_a_jitdump_with_another_clock_names_the_last_function(tmp_path):
    """The last function at an address is all that is known."""
    data = record(tmp_path / "perf.data", PROGRAM, MS, "frames", tmp_path)
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    assert in_jit(tmp_path / "prof.pb.gz").keys() == {"second"}


def test_a_jitdump_below_a_sysroot_is_found(tmp_path):
    """The files of another machine: found there, only there, and not through a link that leaves the folder."""
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


def test_a_leftover_perf_map_names_code(tmp_path, no_maps_left):
    data = record(tmp_path / "perf.data", PROGRAM, MS, "map")
    run("-i", data, "-o", tmp_path / "prof.pb.gz")
    assert in_jit(tmp_path / "prof.pb.gz").keys() == {"second"}


def test_code_is_named_behind_a_recorder(tmp_path):
    """The process runs most of the time, and has exited when its last samples arrive."""
    recorder = [PERF, "record", "-q", "-e", "cpu-clock", "-F", "997", "-k", "mono", "--call-graph", "dwarf", "-o", "-", "--",
                str(PROGRAM), str(2 * MS), "frames", str(tmp_path)]
    with subprocess.Popen(recorder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as perf:
        subprocess.run([STACKTRACE, "-o", tmp_path / "prof.pb.gz"], stdin=perf.stdout, check=True, timeout=60)
    found = {}
    for names, count in stacks(tmp_path / "prof.pb.gz"):
        if "caller" in names:
            found[names[-1]] = found.get(names[-1], 0) + count
    assert found["_start"] > 0.5 * sum(found.values()) > 20
