# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of every metric, and servers of `stacksexport view` on it, as fixtures."""
import pytest

from recordings import SECOND, Batch, kernel, names
from webclient import Server

MS = SECOND // 1000


def fill(b):
    """Two seconds of two programs: CPU, waits, wake-ups, spans, disks, memory, network, losses."""
    for i in range(40):
        b.profile(i * 50 * MS, names("hot", "work", "main"), kernel("copy", "entry") if i % 4 == 0 else None, thread=f"t{i % 2}",
                  pid=100 + i % 2, cgroup="/a/b" if i % 2 else "/ab")
    b.profile(0, names("rec", "rec", "main"), command="other", tgid=200, pid=200, thread="other", cgroup="/a", weight=3)
    for i in range(20):
        b.slice(i * 100 * MS, i * 100 * MS + 20 * MS, "sleeping" if i % 2 else "disk_sleep", names("lock", "work", "main"),
                kernel("schedule", "futex"), runnable=5 * MS, thread="t0", span_id=1 + i // 10, trace_name="query")
        b.add("wake", i * 100 * MS + 90 * MS, names("unlock", "main"), target=100, command="other", tgid=200, pid=200, thread="other")
    for i in range(2):
        b.add("trace_close", (i + 1) * SECOND, duration=900 * MS + i, span_id=1 + i, trace_name="query", thread="t0")
        b.add("blk_read", i * SECOND + 10 * MS, names("read", "main"), duration=5 * MS, amount=4096)
        b.add("vfs_write", i * SECOND + 20 * MS, names("write", "main"), duration=2 * MS, amount=100)
        b.add("tcp_send", i * SECOND + 30 * MS, names("send", "main"), amount=1000)
        b.add("rss", i * SECOND + 40 * MS, names("grow", "main"), amount=10_000 + 4096 * i)
        b.add("fault", i * SECOND + 50 * MS, names("touch", "main"), weight=10)
    b.add("lost", SECOND, amount=5, lost_kind="switch", reason="ring_full", tgid=0, pid=0, command="")
    return b


@pytest.fixture(scope="module")
def rec(tmp_path_factory):
    return fill(Batch()).write(tmp_path_factory.mktemp("view") / "rec")


@pytest.fixture(scope="module")
def server(rec):
    s = Server(rec)
    yield s
    s.close()


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """Ten seconds in which slow takes a quarter of the time, ten in which it takes half; noise is the same in both."""
    b = Batch()
    for i in range(2000):
        late, at = i >= 1000, i * 10 * MS
        b.profile(at, names("slow" if i * 7919 % 100 < (50 if late else 25) else "fast", "main"))
        if i * 104729 % 100 < 30:
            b.profile(at + 1, names("noise", "main"))
        if i % (50 if late else 100) == 0:
            b.add("trace_close", at, duration=MS, trace_name="s", span_id=1 + i)
    return b.write(tmp_path_factory.mktemp("diff") / "changing")


@pytest.fixture
def serve():
    running = []

    def go(*args, **kw):
        running.append(Server(*args, **kw))
        return running[-1]

    yield go
    for s in running:
        s.process.kill()
        s.process.communicate()
