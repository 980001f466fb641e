# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing is lost without a report."""
import json
import os
import re
import signal
import subprocess
import time

import duckdb
import pytest

from conftest import COLLECTOR, EXAMPLES, EXPORT, Recording, alone, needs_bpf, wait_for, wait_switches

pytestmark = needs_bpf


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_flush_everything(start, spawn, sig):
    sleeper = spawn(EXAMPLES / "sleeper", 300)
    c = start("-p", "switch:u", "--pid", sleeper.pid)
    wait_switches(60, sleeper)
    r = c.stop(sig)
    assert r.returncode == 0, r.stderr
    # One slice each; the last slices are included.
    assert r.one("SELECT count(*) FROM events WHERE kind = 'switch'") + r.lost("switch") >= 60
    assert r.one("SELECT count(*) FROM events WHERE state IN ('waiting', 'running')") == 1
    assert not list(r.path.glob("*.tmp"))


def test_after_kill_9_every_finished_batch_is_whole(start, spawn):
    spawn("sh", "-c", "while :; do sleep 0.001; done")
    c = start("-p", "switch:uk", "-r", 200, "-g", 2)
    wait_for(lambda: len(list(c.path.glob("events-*.parquet"))) >= 3)
    r = c.stop(signal.SIGKILL)
    files = sorted(f.name for f in r.path.glob("*.parquet"))
    events = {f.split("-")[1] for f in files if f.startswith("events")}
    stacks = {f.split("-")[1] for f in files if f.startswith("stacktraces")}
    assert len(events) >= 2 and events <= stacks
    for n in events:
        assert duckdb.connect().execute(
            f"SELECT count(*) FROM read_parquet('{r.path}/events-{n}') e ANTI JOIN read_parquet('{r.path}/stacktraces-{n}') s "
            "ON e.ustack_id = s.stack_id WHERE ustack_id IS NOT NULL"
        ).fetchone()[0] == 0


@alone  # no event may be lost
def test_a_recording_is_read_while_it_is_written(start, spawn):
    """A reader sees only complete batches, and each time at least those that it saw before."""
    query = ("SELECT count(*) AS events, count_if(e.ustack_id IS NOT NULL AND s.stack_id IS NULL) AS without "
             "FROM events e LEFT JOIN stacktraces s ON s.stack_id = e.ustack_id")
    spawn("sh", "-c", "while :; do sleep 0.001; done")
    c = start("-p", "switch:uk", "-r", 200, "-g", 2)
    wait_for(lambda: any(c.path.glob("events-*.parquet")))
    before, seen = 0, set()
    while len(seen) < 5:
        p = subprocess.run([EXPORT, "query", query, "-r", c.path, "--format", "json"], capture_output=True, text=True, timeout=120)
        assert (p.returncode, p.stderr) == (0, "")
        result, = json.loads(p.stdout)
        assert result["without"] == 0 and result["events"] >= before
        before = result["events"]
        seen.add(before)
    assert c.stop().returncode == 0


def test_a_batch_is_at_most_ten_seconds_old(start, spawn):
    """Its rows are complete. On a busy disk this takes a while."""
    spawn(EXAMPLES / "sleeper", 300)
    c = start("-p", "switch:u", "sleeper")
    wait_for((c.path / "events-000001.parquet").exists)
    r = c.stop()
    first = f"SELECT min(timestamp), max(timestamp) FROM read_parquet('{r.path}/events-000001.parquet')"
    first, last = r.rows(first)[0]
    assert 8e9 < last - first < 20e9


def test_a_full_disk_is_reported_and_loses_nothing_written(spawn, start, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], check=True)
    try:
        spawn("sh", "-c", "while :; do /bin/true; done")
        c = start("-p", "switch:uk", "-r", 500, "-g", 2, "--compression", "none", name="small/r")
        r = c.finish()
        assert r.returncode == 1
        assert "No space left on device" in r.stderr and str(mount) in r.stderr, r.stderr
        rows, batches, size = re.search(r"s, (\d+) rows in (\d+) batch\w*, (\d+ KB|[\d.]+ MB) in", r.stderr).groups()
        assert int(rows) == r.one("SELECT count(*) FROM events") > 0
        unwritten = int(re.search(r"missing from the files, because writing failed: (\d+) of these rows", r.stderr)[1])
        counted = int(re.search(r"^switch +(\d+)", r.stderr, re.M)[1])
        assert unwritten > 0 and counted - unwritten <= int(rows), r.stderr
        assert int(batches) == len(list(r.path.glob("events-*.parquet")))
        written = sum(f.stat().st_size for f in r.path.iterdir())
        assert size == (f"{written / 1e6:.1f} MB" if written >= 1e6 else f"{written / 1e3:.0f} KB")
        assert not list(r.path.glob("*.tmp"))
    finally:
        subprocess.run(["umount", mount], check=True)


def test_keep_makes_room_on_a_full_disk(spawn, start, tmp_path):
    """The oldest batches go, and the recording goes on; what is left is whole."""
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], check=True)
    try:
        spawn("sh", "-c", "while :; do /bin/true; done")
        # Without user stacks: for their names a batch waits, and on a busy machine it then fills the disk alone.
        c = start("-p", "switch:k", "-r", 500, "-g", 2, "--compression", "none", "--keep", "1h", name="small/r")
        numbers = lambda: sorted(int(p.name[7:13]) for p in c.path.glob("events-*.parquet"))
        wait_for(lambda: numbers()[:1] > [3] or c.proc.poll() is not None)
        r = c.stop()
        assert r.returncode == 0, r.stderr
        first, last = numbers()[0], numbers()[-1]
        assert numbers() == list(range(first, last + 1))
        assert len(list(c.path.glob("stacktraces-*.parquet"))) == len(numbers())
        assert int(re.search(r"removed by --keep: the (\d+) oldest batches", r.stderr)[1]) == first - 1
        assert r.one("SELECT count(*) FROM stacks WHERE kstack_id IS NOT NULL AND coalesce(len(kstack), 0) = 0") == 0
    finally:
        subprocess.run(["umount", mount], check=True)


@alone  # counts what small rings lose
def test_lost_events_are_rows(start):
    c = start("-p", "switch:u", "--ring-size", "128K", "--stack-size", "64K", "--poll", "1s")
    subprocess.run(["perf", "bench", "sched", "pipe", "-l", "100000"], check=True, capture_output=True)
    r = c.stop()
    lost = r.rows("SELECT lost_kind, reason, sum(amount), min(duration) FROM events WHERE kind = 'lost' GROUP BY ALL")
    lost = [x for x in lost if x[:2] == ("switch", "ring_full")]
    assert lost and lost[0][2] > 0 and lost[0][3] > 0
    # Both ends of the pipe switch about once per turn.
    kept = r.one("SELECT count(*) FROM events WHERE kind = 'switch'")
    assert kept + r.lost("switch") > 150000
    summary = [l for l in r.stderr.splitlines() if l.startswith("switch")][0].split()
    assert int(summary[1]) == kept and int(summary[-1]) == r.lost("switch")


def busy_scheduler(start):
    c = start("-p", "switch:u")
    subprocess.run(["perf", "bench", "sched", "pipe", "-l", "100000"], check=True, capture_output=True)
    return c.stop()


@alone  # needs free CPUs
def test_no_loss_at_a_busy_schedulers_rate(start):
    """One of five runs must succeed: other users of the machine may take the CPU, or a wait for a file, for longer than a
    ring lasts."""
    for _ in range(5):
        r = busy_scheduler(start)
        cut = r.one("SELECT count(*) FROM events WHERE command = 'sched-pipe' AND unwind != 'root'")
        if r.lost() == cut == 0:
            break
    assert r.lost() == cut == 0, r.stderr
    # Nearly every one of the 200,000 reads finds no data yet and sleeps.
    assert r.one("SELECT count(*) FROM events WHERE command = 'sched-pipe' AND kind = 'switch'") > 150000


def test_events_are_sorted_and_times_are_now(start):
    before = time.time_ns()
    c = start("-p", "profile:u,switch:u")
    time.sleep(0.5)
    r = c.stop()
    after = time.time_ns()
    first, last = r.rows("SELECT min(timestamp), max(timestamp) FROM events")[0]
    assert before - 1_000_000_000 < first and last < after
    ts = [t for t, in r.rows(f"SELECT timestamp FROM read_parquet('{r.path}/events-000001.parquet')")]
    assert ts == sorted(ts)


@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_reused(tmp_path, closed):
    """Messages for the user once went into the pipe to the command, which took them for a pointer."""
    r, ran = tmp_path / "r", tmp_path / "ran"
    p = subprocess.run(["sh", "-c", f'exec "$0" -d {r} -p switch:u -- touch {ran} {closed}', COLLECTOR], timeout=300, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 0 and ran.exists(), p.stderr
    assert Recording(r).one("SELECT count(*) FROM events WHERE command = 'touch'") > 0


def test_an_unread_stderr_does_not_block(tmp_path):
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        os.set_blocking(writing, True)
        subprocess.run([COLLECTOR, "-d", tmp_path / "r", "--duration", "1s"], stderr=writing, timeout=300, check=True)
    finally:
        os.close(reading)
        os.close(writing)
    assert Recording(tmp_path / "r").one("SELECT count(*) FROM events") > 0


@alone  # needs the CPUs for its crowd
def test_a_crowd_of_busy_threads_does_not_stop_the_recording(start, spawn, compile_c):
    """With ordinary priority the collector gets a thousandth of a CPU here, and took minutes to start and to stop."""
    crowd = compile_c(
        "#include <pthread.h>\n#include <unistd.h>\n"
        "static void *spin(void *p) { for (;;) { for (volatile long n = 0; n < 1000; n++); usleep(1000); } return p; }\n"
        "int main(void) { pthread_t t; for (int i = 0; i < 2000; i++) pthread_create(&t, 0, spin, 0); sleep(60); return 0; }",
        "-pthread",
    )
    spawn(crowd)
    begin = time.monotonic()
    r = start("-p", "switch:uk", "-r", 2000, "-g", 4, "--duration", "3s").finish()
    assert r.returncode == 0 and time.monotonic() - begin < 120, r.stderr


@pytest.mark.parametrize("planted", ["fifo", "file", "link"])
def test_a_status_file_belongs_to_the_collector_only(start, tmp_path, planted):
    """In a folder that other users may write to, they could block the collector, or own the file that readers trust."""
    status, temp, other = tmp_path / "status", tmp_path / "status.new", tmp_path / "other"
    other.write_text("precious")
    if planted == "fifo":
        os.mkfifo(temp)
    elif planted == "file":
        temp.write_text("theirs")
        os.chown(temp, 1000, 1000)
    else:
        temp.symlink_to(other)
    c = start("-p", "profile:u", "--status", status)
    wait_for(status.exists)
    assert status.stat().st_uid == 0 and other.read_text() == "precious"
    assert c.stop(timeout=100).returncode == 0
