# SPDX-License-Identifier: GPL-2.0-or-later
"""merge: recordings of many hosts into a fleet folder."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import duckdb
import pyarrow.parquet as pq
import pytest

from conftest import EXPORT, wait_for
from exporter import run
from recordings import BUILD_ID, SECOND, START, Batch, kernel, names

HOUR = 3600 * SECOND
TO_NEXT_HOUR = HOUR - START % HOUR
TO_NEXT_DAY = 24 * HOUR - START % (24 * HOUR)


def batch(host, at, count=5, **fields):
    b = Batch()
    for command in ("web", "db"):
        b.profile(at, names("work", "main"), host=host, command=command, count=count, span_id=2**64 - 5, **fields)
        b.profile(at + SECOND, names("read", "main"), kernel("copy", "sys_read"), host=host, command=command)
    return b.process(at, host=host)


@pytest.fixture
def hosts(tmp_path):
    """Three recordings of two batches each, in which most stacks repeat."""
    for n, host in enumerate(("a", "b", "c")):
        for number in (1, 2):
            batch(host, (10 * number + n) * SECOND).write(tmp_path / "hosts" / host / "1", number)
    return tmp_path / "hosts"


def merge(*args, **kw):
    return run("merge", *args, **kw)


class Fleet:
    def __init__(self, folder):
        self.folder, self.db = folder, duckdb.connect()

    def files(self, table):
        return sorted((self.folder / table).rglob("*.parquet"))

    def rows(self, table, sql):
        self.db.execute(f"CREATE OR REPLACE VIEW t AS FROM read_parquet({[str(f) for f in self.files(table)]}, hive_partitioning => true)")
        return self.db.execute(sql).fetchall()

    def one(self, table, sql):
        return self.rows(table, sql)[0][0]

    def count(self):
        return self.one("events", "SELECT count(*) FROM t")


def recorded(folder, sql, table="events"):
    return duckdb.connect().execute(f"WITH t AS (FROM read_parquet('{folder}/*/1/{table}-*.parquet')) {sql}").fetchall()


SUMS = "SELECT host, command, kind, count(*), sum(duration), min(timestamp), max(timestamp) FROM t GROUP BY ALL ORDER BY ALL"


def test_a_fleet_has_each_row_once_by_day_and_hour(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    fleet = Fleet(tmp_path / "fleet")
    assert fleet.rows("events", SUMS) == recorded(hosts, SUMS)
    (events,) = fleet.files("events")
    assert str(events.relative_to(fleet.folder)).startswith("events/day=2023-11-14/hour=22/part-")
    assert [f.parent.name for f in fleet.files("stacks") + fleet.files("processes")] == ["day=2023-11-14"] * 2


def test_rows_are_sorted_and_the_metadata_has_the_version(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    (path,) = Fleet(tmp_path / "fleet").files("events")
    table = pq.read_table(path, partitioning=None)
    keys = list(zip(*(table[c].to_pylist() for c in ("command", "host", "timestamp")), strict=True))
    assert keys == sorted(keys)
    metadata = pq.read_metadata(path).metadata
    assert metadata[b"stacks.fleet_version"] == b"1"
    assert table["buildid"][0].as_py() == BUILD_ID


def test_processes_have_every_column(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    (path,) = Fleet(tmp_path / "fleet").files("processes")
    recorded_names = pq.read_schema(hosts / "a" / "1" / "processes-000001.parquet").names
    assert set(recorded_names) <= set(pq.read_schema(path).names)
    assert pq.read_table(path, partitioning=None)["host"].to_pylist() == ["a", "b", "c"]


def test_ids_are_signed_and_join(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    fleet = Fleet(tmp_path / "fleet")
    assert fleet.rows("events", "SELECT DISTINCT span_id, typeof(ustack_id) FROM t WHERE span_id != 0") == [(-5, "BIGINT")]
    stacks = fleet.rows("stacks", "SELECT stack_id, list_transform(frames, lambda f: f.name) FROM t")
    assert sorted(n for _, n in stacks) == [["copy", "sys_read"], ["read", "main"], ["work", "main"]]
    used = fleet.rows("events", "SELECT ustack_id FROM t UNION SELECT kstack_id FROM t WHERE kstack_id IS NOT NULL")
    assert {i for (i,) in used} == {i for i, _ in stacks}
    addresses = fleet.rows("stacks", "SELECT unnest(frames).address FROM t")
    assert min(a for (a,) in addresses) < 0 < max(a for (a,) in addresses)


def test_what_is_merged_is_not_merged_again(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    fleet = Fleet(tmp_path / "fleet")
    before = fleet.files("events"), fleet.count()
    shutil.copytree(hosts, tmp_path / "copies")
    assert "0 new files" in merge(hosts, tmp_path / "copies", "-d", tmp_path / "fleet").stderr
    assert (fleet.files("events"), fleet.count()) == before


def test_copies_in_one_call_count_once(hosts, tmp_path):
    shutil.copytree(hosts, hosts / "copies")
    merge(hosts, "-d", tmp_path / "fleet")
    assert Fleet(tmp_path / "fleet").rows("events", SUMS) == recorded(hosts, SUMS)


def test_later_batches_add_files_and_only_new_stacks(hosts, tmp_path):
    merge(hosts, "-d", tmp_path / "fleet")
    fleet = Fleet(tmp_path / "fleet")
    batch("a", 40 * SECOND).profile(41 * SECOND, names("fresh")).write(hosts / "a" / "1", 3)
    merge(hosts, "-d", tmp_path / "fleet")
    assert fleet.rows("events", SUMS) == recorded(hosts, SUMS)
    assert len(fleet.files("events")) == len(fleet.files("stacks")) == 2
    assert fleet.one("stacks", "SELECT count(*) - count(DISTINCT stack_id) FROM t") == 0
    assert fleet.one("stacks", "SELECT count(*) FROM t") == 4


def test_a_batch_is_divided_at_midnight_and_its_stacks_are_on_both_days(tmp_path):
    b = batch("a", TO_NEXT_DAY - 2 * SECOND).profile(TO_NEXT_DAY + SECOND, names("work", "main"), host="a", command="web")
    b.write(tmp_path / "hosts" / "a" / "1")
    merge(tmp_path / "hosts", "-d", tmp_path / "fleet")
    fleet = Fleet(tmp_path / "fleet")
    assert [f.parent.parent.name + "/" + f.parent.name for f in fleet.files("events")] == ["day=2023-11-14/hour=23", "day=2023-11-15/hour=00"]
    assert fleet.rows("events", SUMS) == recorded(tmp_path / "hosts", SUMS)
    for table in ("stacks", "processes"):
        assert [f.parent.name for f in fleet.files(table)] == ["day=2023-11-14", "day=2023-11-15"]
    assert "0 new files" in merge(tmp_path / "hosts", "-d", tmp_path / "fleet").stderr


def test_old_recordings_get_the_columns_of_new_ones(hosts, tmp_path):
    folder = tmp_path / "old" / "o" / "1"
    batch("old", 0).write(folder)
    path = folder / "events-000001.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["thread", "args", "weight"]), path)
    (folder / "processes-000001.parquet").unlink()
    merge(hosts, tmp_path / "old", "-d", tmp_path / "fleet")
    files = Fleet(tmp_path / "fleet").files("events")
    assert len(files) == 2
    assert pq.read_schema(files[0]).remove_metadata() == pq.read_schema(files[1]).remove_metadata()


@pytest.mark.parametrize("damage", [b"", b"no Parquet", None])
def test_damaged_batches_are_left_out(hosts, tmp_path, damage):
    path = hosts / "b" / "1" / "events-000001.parquet"
    if damage is None:  # the columns, but not the end
        data = bytearray(path.read_bytes())
        data[4:200] = bytes(196)
        path.write_bytes(data)
    else:
        path.write_bytes(damage)
    p = merge(hosts, "-d", tmp_path / "fleet", "--remove")
    assert "left out" in p.stderr and "events-000001.parquet" in p.stderr
    assert Fleet(tmp_path / "fleet").count() == 5 * 12
    assert [f.name for f in sorted(hosts.rglob("*.parquet"))] == ["events-000001.parquet", "processes-000001.parquet", "stacktraces-000001.parquet"]


def test_remove_removes_what_is_merged(hosts, tmp_path):
    expected = recorded(hosts, SUMS)
    p = merge(hosts, "-d", tmp_path / "fleet", "--remove")
    assert "6 merged batches were removed" in p.stderr
    assert not list(hosts.rglob("*.parquet"))
    assert Fleet(tmp_path / "fleet").rows("events", SUMS) == expected


def test_fleets_can_be_merged(hosts, tmp_path):
    for host in "abc":
        merge(hosts / host, "-d", tmp_path / "fleets" / host)
    merge(tmp_path / "fleets", "-d", tmp_path / "fleet", "--remove")
    fleet = Fleet(tmp_path / "fleet")
    assert len(fleet.files("events")) == len(fleet.files("stacks")) == 1
    assert fleet.rows("events", SUMS) == recorded(hosts, SUMS)
    assert fleet.one("events", "SELECT min(span_id) FROM t") == -5
    assert len(list((tmp_path / "fleets").rglob("part-*.parquet"))) == 9, "parts of fleets are never removed"


def test_a_killed_merge_gives_the_same_result(tmp_path):
    for number in range(1, 40):
        batch(f"h{number % 7}", number * 400 * SECOND, count=300).write(tmp_path / "hosts" / f"h{number % 7}" / "1", number)
    merge(tmp_path / "hosts", "-d", tmp_path / "whole")
    took = time.monotonic()
    merge(tmp_path / "hosts", "-d", tmp_path / "again")
    took = time.monotonic() - took
    rng = random.Random(1)
    for _ in range(12):
        p = subprocess.Popen([EXPORT, "merge", tmp_path / "hosts", "-d", tmp_path / "fleet"], stderr=subprocess.DEVNULL)
        time.sleep(took * rng.random())
        p.kill()
        p.wait()
    merge(tmp_path / "hosts", "-d", tmp_path / "fleet")
    whole, fleet = Fleet(tmp_path / "whole"), Fleet(tmp_path / "fleet")
    assert fleet.rows("events", SUMS) == whole.rows("events", SUMS)
    stacks = "SELECT day, list(stack_id ORDER BY stack_id) FROM t GROUP BY day ORDER BY day"
    assert fleet.rows("stacks", stacks) == whole.rows("stacks", stacks)
    assert not list((tmp_path / "fleet" / "_stacks" / "staging").iterdir())


def test_follow_merges_what_comes_and_the_rest_at_its_end(hosts, tmp_path):
    p = subprocess.Popen([EXPORT, "merge", hosts, "-d", tmp_path / "fleet", "--follow", "--every", "1ms"], stderr=subprocess.PIPE, text=True)
    try:
        fleet = Fleet(tmp_path / "fleet")
        wait_for(lambda: fleet.files("events"))
        busy = merge(hosts, "-d", tmp_path / "fleet", status=1)
        assert "another merge" in busy.stderr
        batch("a", 60 * SECOND).write(hosts / "a" / "1", 3)
    finally:
        p.send_signal(signal.SIGTERM)
        _, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    assert fleet.rows("events", SUMS) == recorded(hosts, SUMS)


# In a small process: the kernel counts the memory of the process that a program was started from.
PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def merge_kilobytes(folder, fleet):
    """The most memory that the merge had."""
    return int(subprocess.run([sys.executable, "-S", "-c", PEAK, EXPORT, "merge", folder, "-d", fleet],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def test_memory_does_not_grow_with_the_files_that_were_read(tmp_path):
    """DuckDB keeps the ends of the files of one part, some 100 KB each, and nothing of files that it has closed."""
    few, many = tmp_path / "few", tmp_path / "many"
    for folder, count in ((few, 20), (many, 220)):
        for i in range(count):
            Batch().profile(i, names("f", "main")).write(folder, i + 1)
    assert merge_kilobytes(many, tmp_path / "b") - merge_kilobytes(few, tmp_path / "a") < 200 * 200


def test_wrong_calls(hosts, tmp_path):
    assert "-d DIR" in merge(hosts, status=2).stderr
    assert "--follow" in merge(hosts, "-d", tmp_path / "f", "--every", "1m", status=2).stderr
    assert "no batch" in merge(tmp_path / "f", "-d", tmp_path / "f", status=1).stderr
    assert os.path.isdir(tmp_path / "f")
