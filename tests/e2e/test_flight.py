# SPDX-License-Identifier: GPL-2.0-or-later
"""The flight recorder: nothing is written until a trigger; and options that change while recording."""
import pathlib
import signal
import subprocess

from conftest import COLLECTOR, EXAMPLES, alone, needs_bpf, wait_for, wait_status

pytestmark = needs_bpf

GROWS = """
import sys
ballast = b"x" * (int(sys.argv[1]) << 20)
sys.stdin.readline()
"""


def largest_mb():
    """The memory of the largest process."""
    sizes = [0]
    for statm in pathlib.Path("/proc").glob("[0-9]*/statm"):
        try:
            sizes.append(int(statm.read_text().split()[1]) * 4096 >> 20)
        except OSError:
            pass
    return max(sizes)


def batches(c):
    return sorted(p.name for p in c.path.glob("events-*.parquet"))


def kept(status):
    """Waits until the recorder has kept batches in memory for its whole time."""
    return wait_status(status, lambda s: s["flight"]["batches"] >= 2 and s)


def flight(start, tmp_path, *args):
    status = tmp_path / "status"
    c = start("-p", "switch:n", "--flight", "2s", "--status", status, *args)
    kept(status)
    assert list(c.path.iterdir()) == []
    return c, status


def test_a_dump_writes_the_last_seconds_and_what_follows(start, tmp_path):
    c, status = flight(start, tmp_path)
    assert subprocess.run([COLLECTOR, "--dump", "--status", status]).returncode == 0
    wait_for(lambda: len(batches(c)) >= 2)
    wait_status(status, lambda s: s["flight"]["triggers"] == 1)
    # It is armed again afterwards: later batches are in memory.
    kept(status)
    before = batches(c)
    wait_status(status, lambda s: not s["flight"]["writing"])
    kept(status)
    r = c.stop()
    assert r.returncode == 0 and "no trigger came for them" in r.stderr
    assert batches(c) == before or len(batches(c)) > len(before)
    seconds = r.one("SELECT (max(timestamp) - min(timestamp)) / 1e9 FROM events WHERE kind = 'switch' AND duration < 1e9")
    assert 2 < seconds
    assert r.one("SELECT count(*) FROM stacktraces WHERE stack_id IS NULL") == 0


def test_nothing_is_written_without_a_trigger(start, tmp_path):
    c, _ = flight(start, tmp_path)
    r = c.stop()
    assert r.returncode == 0 and batches(c) == []


def test_a_signal_ends_the_batch_without_a_flight_recorder(start, tmp_path):
    c = start("-p", "switch:n", "--batch", "1h")
    c.proc.send_signal(signal.SIGUSR1)
    wait_for(lambda: batches(c) == ["events-000001.parquet"])
    assert c.stop().returncode == 0 and len(batches(c)) == 2


@alone
def test_a_process_that_grows_triggers(start, spawn, tmp_path):
    mb = largest_mb() + 64
    c, _ = flight(start, tmp_path, "--when", "memory > 1000G", "--when", f"memory > {mb}M")
    p = spawn("python3", "-c", GROWS, mb + 32, stdin=-1)
    wait_for(lambda: batches(c))
    assert f"process {p.pid} has" in c.stop().stderr


def test_a_slow_span_triggers(start, spawn, tmp_path):
    status = tmp_path / "status"
    server = EXAMPLES / "spans_server"
    c = start("-p", f"usdt:{server}", "--flight", "2s", "--status", status, "--when", "span > 1us", "--poll", "100ms")
    spawn(server)
    wait_for(lambda: batches(c))
    assert "a span took" in c.stop().stderr


def test_a_dump_without_a_collector_fails(tmp_path):
    r = subprocess.run([COLLECTOR, "--dump", "--status", tmp_path / "none"], capture_output=True, text=True)
    assert r.returncode == 1 and "no collector writes the status file" in r.stderr


def reloads(c, text):
    c.proc.send_signal(signal.SIGHUP)
    while text not in (line := c.next_line()):
        assert line, "the collector ended"
        c.seen += line
    return line


def test_a_reload_applies_options_without_a_gap(start, tmp_path):
    config, status = tmp_path / "conf", tmp_path / "status"
    config.write_text("max-memory = 300M\nprograms = switch:n\n")
    c = start("--config", config, "--status", status, "--batch", "1s")
    assert "nothing has changed" in reloads(c, "read again")
    config.write_text("max-memory = 200M\nkeep = 1h\nprograms = switch:n\n")
    assert reloads(c, "in force").endswith("in force: --keep, --max-memory\n")
    wait_status(status, lambda s: s["memory"]["limit"] == 200 << 20)
    config.write_text("max-memory = 200M\nkeep = 1h\nprograms = profile:n\n")
    assert "needs a restart: --programs" in reloads(c, "restart")
    config.write_text("max-memory = 1\n")
    assert f"{config}:1: --max-memory" in reloads(c, "--max-memory")
    assert "stay as they were" in reloads(c, "stay")
    r = c.stop()
    assert r.returncode == 0 and r.one("SELECT count(*) FROM events WHERE kind = 'switch'") > 0


def test_a_hangup_ends_a_recording_without_configuration(start):
    c = start("-p", "switch:n")
    assert c.stop(signal.SIGHUP).returncode == 0
