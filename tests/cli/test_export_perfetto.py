# SPDX-License-Identifier: GPL-2.0-or-later
"""perfetto: the trace is read by Perfetto's trace processor, and has the events of `trace` and the samples of pprof."""
import gzip

import pytest

from exporter import Raw, run
from recordings import START, Batch, kernel, names
from traces import Trace, perfetto

MS = 1_000_000
ODD = 'a"b\\c\n\x01</script>é😀'
PROBLEMS = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
SLICES = "SELECT s.ts, s.dur, s.name, s.category, t.tid, k.name FROM slice s JOIN thread_track k ON k.id = s.track_id JOIN thread t USING (utid)"
QUERIES = ["switch_with_stacks.sql", "usdt_all.sql", "vfs_all.sql", "blk_all.sql", "net_all.sql", "tcp_all.sql", "exec_all.sql", "rss_counter.sql"]


@pytest.fixture
def rec(tmp_path):
    b = Batch()
    b.slice(0, 10 * MS, "sleeping", names("wait", "lock", "main"), kernel("schedule"), pid=101, thread="worker")
    b.slice(110 * MS, 150 * MS, "preempted", names("spin", "main"), pid=101, thread="worker", runnable=5 * MS)
    b.slice(170 * MS, 180 * MS, "running", pid=101, thread="worker")
    b.add("vfs_read", 120 * MS, names("read", "main"), duration=115 * MS, amount=4096, file=ODD, pid=101, thread="worker")
    for at in (60, 61):  # requests to a disk that overlap
        b.add("blk_read", at * MS, names("read", "main"), duration=40 * MS, amount=4096, device="sda")
    b.add("trace_exit", 60 * MS, names("leave", "main"), duration=50 * MS, trace_name="GET /", span_id=7)
    b.add("exec", MS, names("exec")).add("rss", 100 * MS, amount=1 << 20).add("rss", 200 * MS, amount=5 << 20)
    b.profile(5 * MS, names("f", "main"), kernel("sys_f"), pid=101, thread="worker").profile(15 * MS, names("f", "main"), count=2)
    b.profile(26 * MS, names("other", None), tgid=200, pid=201, command="other", thread="t", cpu=3).profile(27 * MS)
    return b.write(tmp_path / "rec")


def read(rec, path, *queries, args=()):
    run("perfetto", rec, "-o", path, *args)
    problems, *answers = perfetto(path, PROBLEMS, *queries)
    assert problems == []
    return answers


def test_it_has_the_events_of_trace(rec, tmp_path):
    run("trace", *QUERIES, "-r", rec, "--output", tmp_path / "t.json")
    t = Trace(tmp_path / "t.json")
    slices, counters = read(rec, tmp_path / "t.pftrace", SLICES, "SELECT c.ts, c.value, k.name, k.unit, p.pid FROM counter c JOIN process_counter_track k ON k.id = c.track_id JOIN process p USING (upid)")
    ours = [(START + round(e["ts"] * 1000), round(e.get("dur", 0) * 1000), e["name"], e["cat"]) for e in t.complete + t.instants]
    assert sorted(tuple(s[:4]) for s in slices) == sorted(ours) and len(ours) == 10
    assert {s[5] for s in slices} == {None, "files", "disks", "processes"}, "a thread's own track has the events of its first query"
    assert counters == [[START + 100 * MS, 1 << 20, "rss", "bytes", 100], [START + 200 * MS, 5 << 20, "rss", "bytes", 100]]


def test_samples_have_the_stacks_of_pprof(rec, tmp_path):
    samples, frames = read(
        rec, tmp_path / "t.pftrace", "SELECT s.ts, t.tid, s.cpu, s.callsite_id FROM perf_sample s JOIN thread t USING (utid)",
        "SELECT c.id, c.parent_id, f.name, f.rel_pc, m.name, m.build_id FROM stack_profile_callsite c "
        "JOIN stack_profile_frame f ON f.id = c.frame_id JOIN stack_profile_mapping m ON m.id = f.mapping")
    by_id = {f[0]: f for f in frames}

    def stack(at):
        found = []
        while at is not None:
            found.append(by_id[at][2])
            at = by_id[at][1]
        return tuple(found) or ("[no stack]",)
    found = {}
    for *_, callsite in samples:
        found[stack(callsite)] = found.get(stack(callsite), 0) + 1
    run("pprof", "cpu_stacks.sql", "-r", rec, "--output", tmp_path / "p")
    assert found == {k: v[0] for k, v in Raw(tmp_path / "p").samples.items()}
    assert [START + 26 * MS, 201, 3] in [s[:3] for s in samples]
    files = {f[2]: f[4:] for f in frames}
    assert files["main"] == ["/usr/bin/prog", "ab" * 20] and files["sys_f"] == ["/kernel", ""]


def test_names_arguments_and_the_clock(rec, tmp_path):
    names_, args, clocks = read(
        rec, tmp_path / "t.pftrace.gz", "SELECT DISTINCT p.pid, p.name, t.tid, t.name FROM thread t JOIN process p USING (upid) WHERE p.pid > 0",
        "SELECT s.name, a.key, a.display_value FROM slice s JOIN args a USING (arg_set_id)", "SELECT clock_value FROM clock_snapshot")
    gzip.decompress((tmp_path / "t.pftrace.gz").read_bytes())
    assert {(100, "prog", 101, "worker"), (200, "other", 201, "t")} <= set(map(tuple, names_))
    values = {(name, key): value for name, key, value in args}
    assert values[f"vfs_read {ODD}", "debug.amount"] == "4096" and values[f"vfs_read {ODD}", "debug.stack"] == "read\nmain"
    assert values["sleeping", "debug.stack"] == "schedule\nwait\nlock\nmain" and values["GET /", "debug.span_id"] == "7"
    assert clocks == [[START], [START]], "the trace's clock is the unix time"


def test_a_selection_is_that_of_the_other_commands(rec, tmp_path):
    slices, samples = read(rec, tmp_path / "t", SLICES, "SELECT count(*) FROM perf_sample", args=["--from", "1700000000.014", "--to", "1700000000.050"])
    assert [s[:3] for s in slices] == [[START + 14 * MS, 36 * MS, "sleeping"]] and samples == [[4]]
    assert "selects no event" in run("perfetto", rec, "--pid", "5", "-o", tmp_path / "f", status=1).stderr
