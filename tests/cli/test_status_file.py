# SPDX-License-Identifier: GPL-2.0-or-later
"""The status file of a running recording."""
import json
import subprocess
import time

from conftest import EXAMPLES, needs_bpf, wait_for, wait_status

pytestmark = needs_bpf


def test_it_shows_the_progress_and_is_removed_at_the_end(start, spawn, tmp_path):
    spawn(EXAMPLES / "cpu", 600)
    path = tmp_path / "run" / "status"
    c = start("-p", "profile:u:199", "--status", path, "cpu")
    first = wait_status(path, lambda s: s["samples"] > 0)
    second = wait_status(path, lambda s: s["samples"] > first["samples"] and s["tables"]["pending"] == 0)
    assert second["pid"] == c.pid
    assert second["unwound"] <= second["stacks"] <= second["samples"]
    assert abs(second["converted_percent"] - 100 * second["unwound"] / second["stacks"]) < 0.01
    assert second["tables"]["made"] + second["tables"]["cached"] + second["tables"]["indexed"] >= 1 and second["tables"]["bytes"] > 1000
    assert second["lost"] == 0 and second["own_cpu_percent"] >= 0
    r = c.stop()
    assert r.returncode == 0 and not path.exists() and list(path.parent.iterdir()) == []


def test_a_failure_to_write_is_reported_once(record):
    r = record("--duration", "1200ms", "--status", "/proc/status/nowhere", "-p", "profile:u")
    assert r.stderr.count("cannot write the status file /proc/status/nowhere: ") == 1


def test_a_name_that_is_too_long_is_reported(record):
    r = record("--duration", "600ms", "--status", "/tmp/" + "a" * 4200, "-p", "profile:u")
    assert r.stderr.count(": File name too long") == 1


def test_two_collectors_have_two_files(start, tmp_path):
    """Also if one has had its file for a while, and if both start at once."""
    path = tmp_path / "status"
    path.write_text('{\n  "pid": 4194304,\n  "samples": 1\n}\n')  # of a killed collector
    one, two = (start("-p", "profile:u", "--status", path) for _ in range(2))
    files = wait_for(lambda: json.loads(path.read_text())["samples"] != 1 and list(tmp_path.glob("status.*[0-9]")))
    owner, other = (one, two) if json.loads(path.read_text())["pid"] == one.pid else (two, one)
    time.sleep(1.2)
    assert [f.name for f in files] == [f"status.{other.pid}"]
    assert json.loads(path.read_text())["pid"] == owner.pid
    assert json.loads(files[0].read_text())["pid"] == other.pid
    owner, other = owner.stop(), other.stop()
    assert "another collector" in other.stderr and "another collector" not in owner.stderr
    assert not path.exists() and not files[0].exists()


def test_an_empty_name_means_no_file(record, tmp_path):
    r = record("--duration", "600ms", "--status", "", "-p", "profile:u")
    assert "status file" not in r.stderr


def test_tables_are_kept_for_the_next_start(start, spawn, tmp_path):
    """The tables of a program with many lookups: other programs do not need them. Only root may write the program, so the
    tables may be kept."""
    spawn("gzip", "-9c", "/dev/urandom", stdout=subprocess.DEVNULL)
    seen = []
    for i in range(2):
        path = tmp_path / f"status{i}"
        c = start("-p", "profile:u:499", "--status", path, "--cache", tmp_path / "cache", "gzip")
        seen.append(wait_status(path, lambda s: s["tables"]["made"] + s["tables"]["cached"] > 0 and s["tables"]["pending"] == 0)["tables"])
        c.stop()
    assert seen[0]["cached"] == 0 and seen[1]["cached"] == len(list((tmp_path / "cache").glob("*.table"))) > 0
