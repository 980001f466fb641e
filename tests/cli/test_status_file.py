# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that says how a recording goes."""
import json
import time

from conftest import EXAMPLES, needs_bpf

pytestmark = needs_bpf


def poll(path, until):
    """Reads the file again and again: it is never seen half-written."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists():
            status = json.loads(path.read_text())
            if until(status):
                return status
        time.sleep(0.01)
    raise AssertionError("it never came")


def test_it_says_how_it_goes_and_is_gone_at_the_end(start, spawn, tmp_path):
    spawn(EXAMPLES / "cpu", 60)
    path = tmp_path / "run" / "status"
    c = start("-p", "profile:u:199", "--status", path, "cpu")
    first = poll(path, lambda s: s["samples"] > 0)
    second = poll(path, lambda s: s["samples"] > first["samples"] and s["tables"]["pending"] == 0)
    assert second["pid"] == c.proc.pid
    assert second["unwound"] <= second["stacks"] <= second["samples"]
    assert abs(second["converted_percent"] - 100 * second["unwound"] / second["stacks"]) < 0.01
    assert second["tables"]["made"] + second["tables"]["cached"] >= 1 and second["tables"]["bytes"] > 1000
    assert second["lost"] == 0 and second["own_cpu_percent"] >= 0
    r = c.stop()
    assert r.returncode == 0 and not path.exists() and list(path.parent.iterdir()) == []


def test_one_that_cannot_be_written_is_said_once(record):
    r = record("--duration", "1200ms", "--status", "/proc/status/nowhere", "-p", "profile:u")
    assert r.stderr.count("the status file /proc/status/nowhere cannot be written: ") == 1


def test_none(record, tmp_path):
    r = record("--duration", "600ms", "--status", "", "-p", "profile:u")
    assert "status file" not in r.stderr


def test_tables_are_kept_for_the_next_start(start, spawn, tmp_path):
    spawn(EXAMPLES / "cpu", 60)
    seen = []
    for i in range(2):
        path = tmp_path / f"status{i}"
        c = start("-p", "profile:u:199", "--status", path, "--cache", tmp_path / "cache", "cpu")
        seen.append(poll(path, lambda s: s["samples"] > 0 and s["tables"]["pending"] == 0)["tables"])
        c.stop()
    # The example is in a checkout, which need not be root's alone: its table need not be kept.
    assert seen[0]["cached"] == 0 and seen[1]["made"] <= seen[0]["made"]
    assert seen[1]["cached"] == len(list((tmp_path / "cache").glob("*.table")))
