# SPDX-License-Identifier: GPL-2.0-or-later
"""stacktrace on recordings of perf. perf and sysprof's own library read the output."""
import gzip
import json
import os
import re
import signal
import struct
import subprocess
import time

import pytest

from conftest import ROOT, needs_bpf
from perfdata import (CONTEXT_MAX, PERF, STACKTRACE, Samples, capture_of, chains, needs_perf, perf, pprof, record, run,
                      sysprof_samples)

GOLDEN = ROOT / "tests" / "golden"
USER = (1 << 64) - 512
PYTHON = "import json\nx = [{'a': i} for i in range(2000)]\nfor _ in range(700): json.loads(json.dumps(x, indent=1))"
SQL = ("create table t as with recursive c(x) as (select 1 union all select x+1 from c where x<3000000) "
       "select count(hex(x)) from c;")
SHELL = "for i in $(seq 80); do ls -l /usr/share/doc | sort -r | head -2 >/dev/null; done"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return record(tmp_path_factory.mktemp("perf") / "perf.data", "/usr/bin/python3", "-c", PYTHON)


@pytest.fixture(scope="module")
def small(recorded):
    out = recorded.with_name("small.data")
    run("-i", recorded, "-o", out)
    return out


def found_in(theirs, ours):
    """The number of their frames that ours contains, in order. perf may leave out a caller, for example that of a library's
    _fini, which has no call-frame information. Its callers are one byte before the return address."""
    found = at = 0
    for a in theirs:
        place = next((i for i in range(at, len(ours)) if a in (ours[i], ours[i] - 1)), None)
        if place is not None:
            found, at = found + 1, place + 1
    return found


def assert_same_frames(was, now, share=0.999):
    """`was` is unwound by perf."""
    assert [head for head, _, _ in was] == [head for head, _, _ in now]
    assert [kernel for _, kernel, _ in was] == [kernel for _, kernel, _ in now]
    frames = same = more = 0
    for (_, _, theirs), (_, _, ours) in zip(was, now):
        frames += len(theirs)
        same += found_in(theirs, ours)
        more += max(0, len(ours) - len(theirs))
    assert frames * (1 - share) > 4  # one stack that perf ends differently does not matter
    assert same >= share * frames and more <= 10 * (1 - share) * frames, (same, more, frames)


def records_sz(path):
    """Bytes of the file's records. The rest of a file describes all BPF programs that were loaded, those of other tests, too."""
    return struct.unpack_from("<Q", path.read_bytes(), 48)[0]  # struct perf_file_header, data.size


@needs_perf
def test_frames_are_those_of_perf_script(recorded, small):
    assert_same_frames(chains(recorded), chains(small))
    assert records_sz(small) * 5 < records_sz(recorded)


@needs_perf
def test_compressed_recordings_of_two_programs_are_read(tmp_path):
    z = record(tmp_path / "z.data", "sqlite3", ":memory:", SQL, options=["-z"])
    run("-i", z, "-o", tmp_path / "out.data")
    assert_same_frames(chains(z), chains(tmp_path / "out.data"))


@needs_perf
def test_perf_reads_it_without_a_warning(recorded, small, tmp_path):
    for args in ["report", "--header-only", "-i"], ["report", "--stdio", "-i"], ["script", "-i"]:
        theirs, ours = perf(*args, recorded), perf(*args, small)
        assert ours.returncode == 0
        assert ours.stderr == theirs.stderr
    injected = perf("inject", "-b", "-i", small, "-o", tmp_path / "injected.data")
    assert (injected.returncode, injected.stderr) == (0, b"")
    assert chains(tmp_path / "injected.data") == chains(small)


@needs_perf
def test_header_is_preserved(recorded, small):
    """The header without the description of the event, sizes and offsets."""
    def header(path):
        text = perf("report", "--header-only", "-I", "-i", path).stdout.decode()
        return [line for line in text.splitlines() if not line.startswith(("# event :", "# data ", "# feat ", "# captured"))]
    assert header(small) == header(recorded)
    assert len(header(small)) > 15


@needs_perf
def test_pipe_of_perf_record_is_read(tmp_path):
    """The example of the README: during the recording."""
    record_args = [PERF, "record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-o", "-", "--", "sqlite3",
                   ":memory:", SQL]
    both, out = tmp_path / "both.data", tmp_path / "out.data"
    with subprocess.Popen(record_args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as recorder:
        with subprocess.Popen(["tee", both], stdin=recorder.stdout, stdout=subprocess.PIPE) as tee:
            with out.open("wb") as f:
                filtered = subprocess.run([STACKTRACE, "--format=perf"], stdin=tee.stdout, stdout=f, stderr=subprocess.PIPE,
                                          timeout=300)
    assert (filtered.returncode, filtered.stderr) == (0, b"")
    was, now = chains(both), chains(out)
    assert len(was) > 50
    assert_same_frames(was, now)
    assert perf("report", "--stdio", "-i", out).stderr == perf("report", "--stdio", "-i", both).stderr


@needs_perf
def test_a_file_becomes_a_stream(recorded, small):
    """The tables of a file become records of a stream."""
    streamed = subprocess.run(["sh", "-c", f"{STACKTRACE} -i {recorded} | cat"], capture_output=True, timeout=300)
    assert streamed.returncode == 0
    piped = recorded.with_name("streamed.data")
    piped.write_bytes(streamed.stdout)
    assert chains(piped) == chains(small)
    with recorded.open("rb") as f:
        assert subprocess.run(["sh", "-c", f"cat | {STACKTRACE}"], stdin=f, capture_output=True, timeout=300).stdout[:8] == b"PERFILE2"


@needs_perf
def test_captures_convert_both_ways(recorded, small, tmp_path):
    cap, back, again = tmp_path / "p.syscap", tmp_path / "back.data", tmp_path / "again.syscap"
    run("-i", recorded, "-o", cap)
    samples, others = sysprof_samples(cap)
    ours = chains(small)
    assert len(samples) == len(ours)
    assert all(kind in (3, 4, 5, 6) for kind in others), others  # mappings, processes, forks, exits
    in_time = sorted(samples, key=lambda s: s[2])  # in the order of perf script; the file has one CPU after the other
    for (_, tid, when, addrs), (head, kernel, user) in zip(in_time, ours):
        assert head.split() == [str(tid), f"{when // 10**9}.{when % 10**9 // 1000:06}:"]
        assert [a for a in addrs if a < CONTEXT_MAX][:len(kernel)] == kernel
        assert USER in addrs or not user
    run("-i", cap, "-o", back)
    assert [(h, k, u) for h, k, u in chains(back)] == ours
    run("-i", back, "-o", again)
    assert sysprof_samples(again) == (samples, others)


@needs_bpf
@needs_perf
def test_a_collector_leaves_perf_alone(start, tmp_path):
    """The kernel mixes up the mapping records that several events of the machine request, and perf crashes on the result."""
    start("-p", "profile:u:1")
    frames = [user for _, _, user in chains(record(tmp_path / "perf.data", "/usr/bin/python3", "-c", PYTHON))]
    assert max(map(len, frames)) > 10


@needs_perf
def test_stacks_in_a_capture_are_unwound(recorded, small, tmp_path):
    """Frames of type 18 with the same registers and stacks: the same frames come out."""
    cap, out = tmp_path / "in.syscap", tmp_path / "out.syscap"
    cap.write_bytes(capture_of(Samples(recorded)))
    run("-i", cap, "-o", out)
    samples, others = sysprof_samples(out)
    assert 18 not in others
    ours = {head: user for head, _, user in chains_raw(small, tmp_path)}
    assert len(samples) == len(ours)
    for _, tid, when, addrs in samples:
        assert addrs[0] == USER
        assert addrs[1:] == ours[tid, when]


def chains_raw(path, tmp_path):
    """[((tid, time), kernel, user)] as stored."""
    cap = tmp_path / "raw.syscap"
    run("-i", path, "-o", cap)
    out = []
    for _, tid, when, addrs in sysprof_samples(cap)[0]:
        at = addrs.index(USER) if USER in addrs else len(addrs)
        out.append(((tid, when), addrs[:at], addrs[at + 1:]))
    return out


@needs_perf
def test_profiles_have_the_same_samples(recorded, small, tmp_path):
    """The time of the samples and the names that perf has for them, the same from stacks and from chains."""
    out, again = tmp_path / "prof.pb.gz", tmp_path / "again.pb.gz"
    run("-i", recorded, "-o", out)
    run("-i", small, "-o", again)
    periods = [int(p) for p in perf("script", "-F", "period", "-i", recorded).stdout.split()]
    raw = pprof(out, "-raw")
    assert pprof(again, "-raw") == raw
    assert "samples/count cpu_time/nanoseconds" in raw
    rows = [[int(n) for n in row] for row in re.findall(r"^ +(\d+) +(\d+): [\d ]+$", raw, re.M)]
    assert [sum(column) for column in zip(*rows)] == [len(periods), sum(periods)]
    top = pprof(out, "-top", "-cum", "-nodecount=30", "-symbolize=none")
    assert "_PyEval_EvalFrameDefault" in top


@needs_perf
def test_naive_and_caching_agree(tmp_path):
    """A hundred short processes, mostly in ld.so, where perf's unwinder (libunwind) often leaves out a caller."""
    data = record(tmp_path / "perf.data", "sh", "-c", SHELL)
    for mode in "naive", "caching":
        run("-i", data, "-o", tmp_path / mode, "-m", mode)
    assert_same_frames(chains(tmp_path / "naive"), chains(tmp_path / "caching"), share=0.99)
    assert sum(len(user) for _, _, user in chains(tmp_path / "caching")) > 500


@needs_perf
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: other users have no workers")
@pytest.mark.parametrize("ending", [".data", ".pb.gz"])
def test_workers_change_no_byte(recorded, tmp_path, ending):
    """Root's files are the same with and without the processes that parse."""
    results = {}
    for option in [], ["--no-sandbox"]:
        out = tmp_path / f"out{len(results)}{ending}"
        run("-i", recorded, "-o", out, *option)
        results[len(results)] = gzip.decompress(out.read_bytes()) if ending == ".pb.gz" else out.read_bytes()
    assert results[0] == results[1] and results[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: other users have no more rights than their own")
@pytest.mark.parametrize("option", ["--no-sandbox", "--mode=naive", "--mode=caching", "--mode=none"])
def test_root_is_warned_if_this_process_parses(tmp_path, option):
    err = run("-i", GOLDEN / "file.data", "-o", tmp_path / "out", option).stderr.decode()
    warned = f"files of other users are parsed with all rights of this process ({option})" in err
    assert warned == (option in ("--no-sandbox", "--mode=naive")), err


def test_modes_passthru_and_none_do_not_unwind(tmp_path):
    out = tmp_path / "out"
    out.write_bytes(b"x" * 100000)  # existing files are replaced
    run("-i", GOLDEN / "file.data", "-o", out, "-m", "passthru")
    assert out.read_bytes() == (GOLDEN / "file.data").read_bytes()
    run("-i", GOLDEN / "file.data", "-o", out, "-m", "none")
    assert struct.unpack_from("<2Q", out.read_bytes(), 40)[1] == 8  # a mark: perf warns of a file without any record
    run("-i", GOLDEN / "sysprof-with-type18.syscap", "-o", out, "-m", "none")
    assert out.read_bytes() == (GOLDEN / "sysprof-with-type18.syscap").read_bytes()[:256]
    run("-i", GOLDEN / "sysprof.syscap", "-o", out)
    assert out.read_bytes() == (GOLDEN / "sysprof.syscap").read_bytes()


def test_damaged_input_is_reported(tmp_path):
    data = (GOLDEN / "file.data").read_bytes()
    cut = tmp_path / "cut.data"
    for size, samples in (len(data) - 4, 6), (len(data) // 2, None), (300, 0):
        cut.write_bytes(data[:size])
        p = run("-i", cut, "-o", tmp_path / "out", "-v", status=1)
        assert b"cut.data: at byte " in p.stderr
        if samples is not None:
            assert f"received {samples} samples".encode() in p.stderr
    kept = tmp_path / "kept.data"
    kept.write_bytes(b"what was there")
    cut.write_bytes(b"nothing of the kind")
    for mode in "caching", "passthru":
        assert b"neither a perf.data file nor a sysprof capture" in run("-i", cut, "-o", kept, "-m", mode, status=2).stderr
    assert kept.read_bytes() == b"what was there"
    cut.write_bytes(b"")
    assert b"empty" in run("-i", cut, status=2).stderr
    cut.write_bytes(data[7::-1] + data[8:])
    assert b"big-endian" in run("-i", cut, status=2).stderr
    assert b"is not a perf.data file" in run("-i", GOLDEN / "sysprof.syscap", "-f", "perf", status=2).stderr


def test_wrong_calls_are_refused(tmp_path):
    assert b"--mode" in run("-m", "fast", status=64).stderr
    assert b"--latency" in run("--latency", "1h", status=64).stderr
    run("extra", status=64)
    run("-i", tmp_path / "missing", status=2)
    same = tmp_path / "same"
    same.write_bytes((GOLDEN / "file.data").read_bytes())
    assert b"is also the input" in run("-i", same, "-o", same, status=2).stderr
    assert same.stat().st_size > 0
    assert b"folder" in run("-i", tmp_path, status=2).stderr


@needs_perf
def test_a_folder_of_perf_threads_is_refused(tmp_path):
    """perf converts it to a stream, as the message advises; the stream lacks nothing."""
    folder = tmp_path / "perf.data"
    p = perf("record", "-q", "--threads=cpu", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-N", "-B", "-o", folder, "--",
             "sqlite3", ":memory:", SQL)
    if not folder.is_dir():
        pytest.skip(f"this perf records no folders: {p.stderr}")
    said = run("-i", folder, status=2).stderr.decode()
    assert f"perf inject -i {folder} -o - | stacktrace" in said
    assert b"perf inject" in run("-i", folder / "data", status=2).stderr
    out = tmp_path / "out.data"
    subprocess.run(["sh", "-c", f"{PERF} inject -i {folder} -o - | {STACKTRACE} -o {out}"], check=True, timeout=60)
    assert_same_frames(chains(folder), chains(out))


def test_verbose_and_status_show_progress(tmp_path):
    env = dict(os.environ, ELFUTILS_STACKTRACE_VERBOSE="true")
    p = run("-i", GOLDEN / "file.data", "-o", tmp_path / "out", "--status", tmp_path / "status", env=env)
    lines = p.stderr.decode().splitlines()
    assert lines[-1].startswith("TOTAL -- received 6 samples, lost ")
    assert lines[-2].startswith("17457 sqlite3 -- max ")
    status = json.loads((tmp_path / "status").read_text())
    assert (status["samples"], status["ended"]) == (6, True)
    assert status["bytes_read"] > 10000


class Held:
    """stacktrace behind a pipe that stays open."""

    def __init__(self, *args):
        self.p = subprocess.Popen([STACKTRACE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.p.stdout.fileno(), False)

    def feed(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def wait_for(self, size, seconds=120):
        """The first `size` bytes, or what has arrived when the time is up."""
        got, end = b"", time.monotonic() + seconds
        while len(got) < size and time.monotonic() < end:
            got += self.p.stdout.read() or b""
            time.sleep(0.01)
        return got


def events_of(stream):
    """The HEADER_ATTR records of a stream: (event, sample_type, ids)."""
    at, events = 16, []
    while at < len(stream):
        kind, _, size = struct.unpack_from("<IHH", stream, at)
        if kind == 64:
            attr_sz, config, _, sample_type = struct.unpack_from("<IQQQ", stream, at + 12)
            events.append((config, sample_type, stream[at + 8 + attr_sz:at + size]))
        at += size
    return events


@pytest.mark.parametrize("golden", ["perf-5.10-pipe.data", "perf-7.3-pipe.data"])
def test_events_of_a_stream_stay_apart(golden):
    data = (GOLDEN / golden).read_bytes()
    out = subprocess.run([STACKTRACE], input=data, capture_output=True, check=True, timeout=300).stdout
    was, now = events_of(data), events_of(out)
    assert [(config, ids) for config, _, ids in now] == [(config, ids) for config, _, ids in was]
    assert len({config for config, _, _ in now}) == len({ids for _, _, ids in now}) == 2
    assert all(sample_type & 0x3020 == 0x20 for _, sample_type, _ in now)  # a chain, no registers, no stack


@needs_perf
def test_two_events_in_a_pipe_are_told_apart(tmp_path):
    both = tmp_path / "both.data"
    both.write_bytes(perf("record", "-q", "-N", "-B", "-F", "997", "-e", "cpu-clock", "-e", "page-faults", "--call-graph", "dwarf",
                          "-o", "-", "--", "sqlite3", ":memory:", SQL).stdout)
    run("-i", both, "-o", tmp_path / "out.data")
    assert_same_frames(chains(both), chains(tmp_path / "out.data"))


def test_pipes_are_not_held_back():
    """No mark follows the last rounds. They are written all the same while the recorder continues."""
    data = (GOLDEN / "pipe.data").read_bytes()
    all_of_it = len(subprocess.run([STACKTRACE], input=data, capture_output=True, timeout=300).stdout)
    held = Held()
    held.feed(data)
    assert len(held.wait_for(all_of_it)) == all_of_it
    assert held.p.poll() is None
    held.p.stdin.close()
    assert held.p.wait(120) == 0


def test_interrupts_are_for_the_recorder():
    data = (GOLDEN / "pipe.data").read_bytes()
    held = Held()
    held.feed(data[:12000])
    assert held.wait_for(100)  # it has started
    for _ in range(2):
        held.p.send_signal(signal.SIGINT)
        time.sleep(0.05)
    held.feed(data[12000:])
    held.p.stdin.close()
    assert held.p.wait(120) == 0
    held = Held()
    held.feed(data[:12000])
    assert held.wait_for(100)
    while held.p.poll() is None:  # the third interrupt ends it, although no stream was closed
        held.p.send_signal(signal.SIGINT)
        time.sleep(0.05)
    assert held.p.returncode in (0, 1)
