# SPDX-License-Identifier: GPL-2.0-or-later
"""The reason for an empty result, and the warning for a result that is too small."""
import subprocess

import pytest

from exporter import COUNT, CPU, count, run
from recordings import Batch, names

SPANS = "sql/pprof/span_time.sql"
NET = "sql/pprof/net_ustack_tcp_bandwidth.sql"


@pytest.fixture
def rec(tmp_path):
    b = Batch().profile(1, names("f")).slice(0, 1, "sleeping", names("f"), tgid=7, pid=7, command="other", buildid=b"\1" * 20)
    return b.write(tmp_path / "r", metadata={"stacks.schema_version": "1", "stacks.sources": "profile,switch,net"})


def why(rec, tmp_path, *args):
    p = run(*args, "-r", rec, "--output", tmp_path / "out", status=1)
    assert not (tmp_path / "out").exists()
    return p.stderr.removeprefix("stacksexport: ")


def test_a_source_that_was_not_recorded_is_named(rec, tmp_path):
    assert why(rec, tmp_path, "pprof", SPANS, "-c", "prog") == (
        f"the result is empty; the query reads events that {rec} lacks; record them with: trace_exit (collector -p usdt:PATH)\n")


def test_a_source_without_events_is_named(rec, tmp_path):
    assert why(rec, tmp_path, "pprof", NET, "-c", "prog") == f"the result is empty: {rec} recorded tcp_send, tcp_recv, but no such event occurred\n"
    assert why(rec, tmp_path, "query", "SELECT pid FROM events WHERE kind = 'profile' AND pid = 1") == f"the result is empty; commands in {rec}: other, prog\n"


def test_an_unknown_command_is_reported(rec, tmp_path):
    assert why(rec, tmp_path, "pprof", CPU, "-c", "nobody") == f"the result is empty; there is no such command; commands in {rec}: other, prog\n"


def test_a_command_without_matching_rows_is_reported(rec, tmp_path):
    assert why(rec, tmp_path, "pprof", CPU, "-c", "other") == f"the result is empty: other is in {rec}, but none of its rows match the query\n"


def test_a_program_that_did_not_run_is_reported(rec, tmp_path, compile_c):
    program = compile_c("int main(void) { return 0; }\n", "-Wl,--build-id=0x" + "ab" * 20)
    for args in (("pprof", "sql/pprof/cpu_ustacks.sql", "--output", tmp_path / "out"), ("top",)):
        p = run(*args, "-b", program, "-r", rec, status=1)
        assert p.stderr == f"stacksexport: the result is empty: no process in {rec} ran {program} (build ID {'ab' * 20})\n"
    other = compile_c("int main(void) { return 0; }\n", "-Wl,--build-id=0x" + "01" * 20, name="other")
    assert f"{other} is in {rec}" in why(rec, tmp_path, "pprof", "sql/pprof/cpu_ustacks.sql", "-b", other)


def test_losses_are_reported(tmp_path):
    rec = Batch().profile(1, names("f")).add("lost", 2, amount=41, lost_kind="profile").add("lost", 3, amount=1, lost_kind="process").write(tmp_path / "r")
    said = "stacksexport: warning: 41 events were lost while recording: sums are too small\n"
    assert run("query", COUNT, "-r", rec).stderr == said
    assert run("query", COUNT, "-r", rec, "--format", "csv").stderr == said
    assert said in run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p").stderr
    assert run("query", "SELECT sum(amount) FROM events WHERE kind = 'lost'", "-r", rec).stderr == ""
    assert run("query", "SELECT lost_kind, count(*) FROM events GROUP BY ALL", "-r", rec).stderr == ""


def test_losses_are_said_where_they_matter(tmp_path):
    """What the query reads has lost them, and more than one in 10,000."""
    b = Batch().add("lost", 2, amount=1, lost_kind="profile").add("lost", 2, amount=9, lost_kind="switch")
    b.profile(1, names("f"), count=5000)
    cpu, lost = "SELECT count(*) FROM events WHERE kind = 'profile'", "stacksexport: warning: 1 event was lost while recording: sums are too small\n"
    assert run("query", cpu, "-r", b.write(tmp_path / "some")).stderr == lost
    b.profile(2, names("f"), count=5000)
    rec = b.write(tmp_path / "few")
    assert run("query", cpu, "-r", rec).stderr == ""
    assert "9 events were lost" in run("query", "SELECT count(*) FROM events WHERE kind = 'switch'", "-r", rec).stderr
    assert "10 events were lost" in run("query", COUNT, "-r", rec).stderr
    assert run("query", "SELECT count(*) FROM events WHERE kind IN ('rss', 'exec')", "-r", rec).stderr == ""
    b.add("lost", 2, amount=70, lost_kind="ring")
    assert "71 events were lost" in run("query", cpu, "-r", b.write(tmp_path / "unknown")).stderr


def test_several_recordings_are_read_together(tmp_path):
    for number in (1, 2, 3):
        Batch().profile(1, names("f"), count=number).write(tmp_path / str(number))
    assert count("-r", tmp_path / "1", "-r", tmp_path / "3") == 4
    assert count("-r", tmp_path / "1", "-r", tmp_path / "1" / "events-000001.parquet") == 1
    p = run("query", COUNT, "-r", tmp_path / "1", "-r", tmp_path / "4", status=1)
    assert p.stderr == f"stacksexport: there is no recording {tmp_path}/4\n"
    assert f"\n{tmp_path}/1, {tmp_path}/2: " in "\n" + run("top", "-r", tmp_path / "1", "-r", tmp_path / "2").stdout
    p = run("query", COUNT, "-c", "a", "-c", "b", "-r", tmp_path / "1", status=2)
    assert "--command 'b': it is given twice" in p.stderr


def test_a_glob_skips_other_folders(tmp_path):
    """A folder of recordings stands for its newest recording with content. A folder that is no recording contributes
    nothing."""
    Batch().profile(1, names("f")).write(tmp_path / "a")
    Batch().profile(1, names("f"), count=2).write(tmp_path / "all" / "1")
    Batch().profile(1, names("f"), count=4).write(tmp_path / "all" / "2")
    (tmp_path / "all" / "3").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    assert count("-r", tmp_path / "*") == 5
    (tmp_path / "a" / "stacktraces-000001.parquet").unlink()
    p = run("query", COUNT, "-r", tmp_path / "*", "--format", "csv")
    assert p.stdout == "n\n4\n" and "a/stacktraces-000001.parquet is missing" in p.stderr
    p = run("query", COUNT, "-r", tmp_path / "note*", status=1)
    assert p.stderr == f"stacksexport: there is no recording {tmp_path}/note*\n"


@pytest.mark.parametrize("named", ["1", ""])
def test_a_recording_in_which_nothing_happened_is_no_missing_folder(tmp_path, named):
    (tmp_path / "all" / "1").mkdir(parents=True)
    for command in ("query", COUNT), ("top",):
        error = run(*command, "-r", tmp_path / "all" / named, status=1).stderr
        assert error.startswith(f"stacksexport: {tmp_path}/all/1 has no batch")
        assert "nothing was recorded there yet, or nothing happened" in error and "there is no recording" not in error


@pytest.mark.parametrize("named", ["1", ""])
def test_a_recording_without_a_finished_batch_is_reported(tmp_path, named):
    """flock(1) holds the lock that a running collector holds."""
    (tmp_path / "all" / "1").mkdir(parents=True)
    args = ("query", COUNT, "-r", tmp_path / "all" / named)
    assert "finished" not in run(*args, status=1).stderr
    with subprocess.Popen(["flock", tmp_path / "all" / "1", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        p = run(*args, status=1)
        holder.stdin.close()
    assert p.stderr == f"stacksexport: {tmp_path}/all/1 has no batch: none is complete yet; the first one is complete after at most ten seconds\n"


@pytest.mark.parametrize("args, right", [
    (("pprof", "time_by_stack"), "query -f time_by_stack"), (("query", "-f", "cpu_stacks.sql"), "pprof cpu_stacks.sql"),
    (("trace", "slow_spans"), "query -f slow_spans"), (("pprof", "blk_all"), "trace blk_all"),
])
def test_a_query_for_another_command_is_refused(rec, args, right):
    p = run(*args, "-r", rec, status=1)
    assert p.stderr == f"stacksexport: {right.split()[-1]} is a query for another command: stacksexport {right}\n"
