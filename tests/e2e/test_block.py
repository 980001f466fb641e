# SPDX-License-Identifier: GPL-2.0-or-later
"""block: disk requests. The disk is a loop device over a file in memory. The kernel's own disk counters are the oracle."""
import os
import pathlib
import subprocess

import pytest

from conftest import needs_bpf
from recordings import below_syscall_cancel

pytestmark = needs_bpf

MB = 1 << 20
# aio DEVICE BLOCK…: writes these blocks of 4 KiB in one submission, in this order.
AIO = r"""
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char data[64][4096] __attribute__((aligned(4096)));
	struct iocb cb[64] = { 0 }, *list[64];
	struct io_event done[64];
	aio_context_t ctx = 0;
	int n = argc - 2, fd = open(argv[1], O_WRONLY | O_DIRECT);

	for (int i = 0; i < n; i++) {
		cb[i].aio_fildes = fd;
		cb[i].aio_lio_opcode = IOCB_CMD_PWRITE;
		cb[i].aio_buf = (unsigned long)data[i];
		cb[i].aio_nbytes = 4096;
		cb[i].aio_offset = 4096 * atoll(argv[2 + i]);
		list[i] = &cb[i];
	}
	if (syscall(SYS_io_setup, 64, &ctx) || syscall(SYS_io_submit, ctx, n, list) != n ||
	    syscall(SYS_io_getevents, ctx, n, n, done, NULL) != n)
		return 1;
	for (int i = 0; i < n; i++)
		if (done[i].res != 4096)
			return 2;
	return 0;
}
"""
# Documentation/block/stat.rst
STAT = ("reads", "reads_merged", "read_sectors", "read_ms", "writes", "writes_merged", "write_sectors", "write_ms", "in_flight",
        "io_ms", "queue_ms", "discards", "discards_merged", "discard_sectors", "discard_ms", "flushes", "flush_ms")


def run(*argv, check=True):
    return subprocess.run([str(a) for a in argv], check=check, capture_output=True, text=True)


class Disk:
    """A loop device."""

    def __init__(self, file, size):
        self.file = file
        with open(file, "wb") as f:
            f.truncate(size)
        p = run("losetup", "--find", "--show", file, check=False)
        if p.returncode:
            pytest.skip(f"no loop device can be had: {p.stderr.strip()}")
        self.path = p.stdout.strip()
        self.name = os.path.basename(self.path)

    def queue(self, name):
        return pathlib.Path(f"/sys/block/{self.name}/queue/{name}")

    def stat(self):
        return dict(zip(STAT, map(int, pathlib.Path(f"/sys/block/{self.name}/stat").read_text().split())))

    def remove(self):
        run("losetup", "-d", self.path, check=False)
        self.file.unlink()


@pytest.fixture
def disk():
    d = Disk(pathlib.Path(f"/dev/shm/stacks-disk-{os.getpid()}"), 64 * MB)
    yield d
    d.remove()


@pytest.fixture
def mounted(disk, tmp_path):
    """The disk with an ext4 file system that has a journal."""
    folder = tmp_path / "mnt"
    folder.mkdir()
    run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.path)
    p = run("mount", "-t", "ext4", disk.path, folder, check=False)
    if p.returncode:
        pytest.skip(f"ext4 cannot be mounted: {p.stderr.strip()}")
    yield folder
    run("umount", folder)


@pytest.fixture
def watch(start, disk):
    """watch(work, *args) → the recording of work(), and what the kernel counted meanwhile.

    Repeats the work if bytes are missing: some kernels do not run BPF programs in the interrupts of some tasks."""

    def once(work, args):
        collector = start("-p", "block:uk", *args)
        before = disk.stat()
        work()
        after = disk.stat()
        r = collector.stop()
        assert r.returncode == 0, r.stderr
        return r, {name: after[name] - before[name] for name in STAT}

    def go(work, *args):
        for _ in range(3):
            r, stat = once(work, args)
            moved = sum(stat[f"{what}_sectors"] for what in ("read", "write", "discard"))
            if args or moved * 512 == sum(amount for _, amount in sums(r, disk).values()):
                break
        return r, stat

    return go


def sums(r, disk):
    """{kind: (rows, bytes)} of the disk."""
    return {kind: (rows, int(amount)) for kind, rows, amount in r.rows(
        "SELECT kind, count(*), sum(amount) FROM events WHERE device = ? GROUP BY ALL", disk.name)}


def test_bytes_add_up(watch, disk):
    def work():
        run("dd", "if=/dev/zero", f"of={disk.path}", "bs=1M", "count=8", "oflag=direct")
        run("dd", f"if={disk.path}", "of=/dev/null", "bs=64k", "count=32", "iflag=direct")

    r, stat = watch(work)
    got = sums(r, disk)
    assert got["blk_write"] == (stat["writes"], 8 * MB) and stat["write_sectors"] * 512 == 8 * MB
    assert got["blk_read"] == (stat["reads"], stat["read_sectors"] * 512)
    # If udev runs, it may read a disk after a write to it.
    assert r.one("SELECT sum(amount) FROM events WHERE device = ? AND kind = 'blk_read' AND command = 'dd'", disk.name) == 2 * MB
    assert r.one("SELECT count(*) FROM events WHERE kind = 'lost'") == 0
    rows = r.rows("SELECT duration, reason, unwind, list_transform(ustack, lambda f: f.name), kstack[1].name, list_transform(kstack, lambda f: f.name), "
                  "(SELECT max(timestamp) - min(timestamp - duration) FROM events) FROM stacks WHERE device = ? AND command = 'dd'", disk.name)
    for duration, reason, unwind, callers, top, names, whole in rows:
        assert 0 < duration <= whole and reason is None and unwind == "root"
        leaf = below_syscall_cancel(callers)[0]
        assert leaf in ("write", "read", "__write", "__read", "__libc_write", "__libc_read"), leaf
        assert not top.startswith(("bpf_", "__bpf", "__traceiter")) and any("submit_bio" in n for n in names if n)


def test_merged_requests_count_once(watch, disk, compile_c):
    aio = compile_c(AIO, "-D_GNU_SOURCE")
    if "mq-deadline" in disk.queue("scheduler").read_text():
        disk.queue("scheduler").write_text("mq-deadline")  # merges requests too, not only bios into requests
    orders = [(0, 1, 2, 3), (13, 12, 11, 10), (20, 22, 21), (30, 32, 34, 31, 33), tuple(range(140, 100, -1))]

    def work():
        for order in orders:
            run(aio, disk.path, *order)

    r, stat = watch(work)
    assert sums(r, disk)["blk_write"] == (stat["writes"], 4096 * sum(map(len, orders)))
    assert stat["writes"] + stat["writes_merged"] == sum(map(len, orders)) and stat["writes_merged"] > 0
    assert r.one("SELECT count(*) FROM events WHERE kind = 'lost'") == 0


def test_every_flush_that_was_asked_for_is_a_row(watch, disk):
    assert disk.queue("write_cache").read_text().strip() == "write back"

    def work():
        fd = os.open(disk.path, os.O_RDWR)
        for i in range(5):
            os.pwrite(fd, b"x" * 4096, i * 4096)
            os.fsync(fd)
        os.close(fd)

    r, stat = watch(work)
    flushes = r.rows("SELECT amount, tgid, list_contains(list_transform(kstack, lambda f: f.name), 'blkdev_issue_flush') FROM stacks "
                     "WHERE kind = 'blk_flush' AND device = ?", disk.name)
    assert flushes == [(0, os.getpid(), True)] * 5
    assert stat["flushes"] == 5
    assert sums(r, disk)["blk_write"][1] == 5 * 4096


def test_a_commit_is_a_flush_and_a_write(watch, disk, mounted):
    def work():
        for i in range(3):
            with open(mounted / f"file{i}", "wb") as f:
                f.write(b"x" * 4096)
                f.flush()
                os.fsync(f.fileno())

    r, _ = watch(work)
    commits = r.rows("SELECT f.duration, w.duration, w.amount FROM events f JOIN events w ON f.pid = w.pid AND w.kind = 'blk_write' "
                     "AND f.timestamp - f.duration = w.timestamp - w.duration WHERE f.kind = 'blk_flush' AND f.device = ? "
                     "AND f.thread LIKE 'jbd2/%'", disk.name)
    assert len(commits) >= 3
    for flush, write, amount in commits:
        assert flush < write and amount > 0
    assert r.one("SELECT count(*) FROM events WHERE kind = 'blk_flush' AND device = ? AND thread LIKE 'jbd2/%'", disk.name) == len(commits)


def test_discards_are_rows(watch, disk):
    if int(disk.queue("discard_max_bytes").read_text()) == 0:
        pytest.skip("the loop device cannot discard")
    r, stat = watch(lambda: run("blkdiscard", "-f", "-o", 4 * MB, "-l", 8 * MB, disk.path))
    assert sums(r, disk)["blk_discard"] == (stat["discards"], 8 * MB)


def test_failed_requests_have_a_reason_and_no_bytes(watch, disk):
    os.truncate(disk.file, 4 * MB)
    done = []

    def work():
        done.clear()
        for block in (3, 5):
            done.append(run("dd", f"if={disk.path}", "of=/dev/null", "bs=1M", "count=1", f"skip={block}", "iflag=direct", check=False).returncode)

    r, stat = watch(work)
    if done == [0, 0]:
        pytest.skip("this kernel's loop device reads zeros behind the end of its file")
    assert done == [0, 1]
    rows = r.rows("SELECT reason, count(*), sum(amount)::INT FROM events WHERE device = ? AND command = 'dd' GROUP BY ALL", disk.name)
    assert {reason: amount for reason, _, amount in rows} == {None: MB, "EIO": 0}
    assert sum(n for _, n, _ in rows) == stat["reads"]


def test_write_back_is_marked(watch, disk, mounted):
    def work():
        (mounted / "file").write_bytes(b"x" * (4 * MB))
        run("sync", "-f", mounted)

    r, _ = watch(work)
    bytes_, threads = r.rows("SELECT sum(amount), list(DISTINCT thread) FROM events WHERE reason = 'writeback' AND device = ?", disk.name)[0]
    assert bytes_ >= 4 * MB and all(t.startswith("kworker/") for t in threads)
    assert r.one("SELECT count(*) FROM events WHERE reason = 'writeback' AND kind != 'blk_write'") == 0


def test_only_the_submitter_is_recorded(watch, disk):
    def work():
        run("dd", "if=/dev/zero", f"of={disk.path}", "bs=1M", "count=2", "oflag=direct")
        fd = os.open(disk.path, os.O_RDWR)
        os.pwrite(fd, b"x" * MB, 8 * MB)
        os.fsync(fd)
        os.close(fd)

    r, _ = watch(work, "dd")
    assert r.rows("SELECT DISTINCT command FROM events") == [("dd",)]
    assert sums(r, disk) == {"blk_write": (r.one("SELECT count(*) FROM events"), 2 * MB)}


def test_the_disk_of_the_root_file_system_is_recorded(record, tmp_path):
    """The device completes requests in an interrupt. Some kernels do not run BPF programs in the interrupts of some
    tasks."""
    file = tmp_path / "file"
    for _ in range(5):
        r = record("-p", "block:u", "--", "dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=8", "oflag=direct", "conv=fsync")
        if not r.one("SELECT count(*) FROM events WHERE kind = 'blk_write'"):
            pytest.skip("the root file system is not on a disk with requests")
        if r.one("SELECT sum(amount) FROM events WHERE kind = 'blk_write'") >= 8 * MB:
            break
    device, amount = r.rows("SELECT device, sum(amount) FROM events WHERE kind = 'blk_write' GROUP BY ALL")[0]
    assert 8 * MB <= amount < 9 * MB  # of the file system itself
    if pathlib.Path(f"/sys/block/{device}/queue/write_cache").read_text().strip() == "write back":
        assert r.one("SELECT count(*) FROM events WHERE kind = 'blk_flush'") >= 1
