# SPDX-License-Identifier: GPL-2.0-or-later
"""A large recording in `stacksexport view`: its first part is shown while the rest is read (src/stacksexport/web/steps.c)."""
import base64
import os
import random
import subprocess
import time

import pytest

from viewserver import serve  # noqa: F401
from conftest import BUILD, wait_for
from recordings import SECOND, Batch, names
from webclient import functions

BATCHES, FIRST = 7, 3  # batches, and those of the first step
ROWS = 7000  # 6 MB of events: the names of threads cannot be compressed
HANGS = "1000000 5000000"  # bytes of a file that are not needed to open a recording


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A second for each batch, with a thread for each of many calls, CPU samples of a function of its own, and a thread that
    another one wakes every 100 ms."""
    folder, names_from = tmp_path_factory.mktemp("steps") / "rec", random.Random(1)
    for number in range(BATCHES):
        b, at = Batch(), number * SECOND
        for row in range(ROWS):
            thread = base64.b64encode(names_from.randbytes(1000)).decode()
            b.add("vfs_read", at + row * 1000, duration=10, amount=1, thread=thread)
        b.profile(at, names(f"part{number}", "main"), count=10)
        for tenth in range(10):
            begin = at + tenth * SECOND // 10
            b.slice(begin, begin + 1000, "sleeping", names("wait", "main"), thread="sleeper")
            b.add("wake", begin + 5000, names("wake", "main"), target=100, tgid=200, pid=200, command="waker")
        b.write(folder, number + 1)
    assert all(path.stat().st_size > 5.6e6 for path in folder.glob("events-*"))
    return folder


def rows_of(server):
    return {kind["kind"]: kind["rows"] for kind in server.get("recording")["kinds"]}


def wait_read(server, partial, stuck):
    """Sends requests as often as the page does: the server reads on only when there are none."""
    def is_read():
        recording = server.get("recording")
        return (recording["partial"], recording["stuck"]) == (partial, stuck) or time.sleep(3)
    wait_for(is_read)


def waits_of(answer):
    return sum(row["count"] for row in answer["rows"])


def check_shows(server, batches):
    cnt = 10 * batches
    assert rows_of(server) == {"profile": cnt, "switch": cnt, "vfs_read": ROWS * batches, "wake": cnt}
    found = functions(server.get("functions", metric="cpu"))
    assert {name for _, name in found} == {"main"} | {f"part{number}" for number in range(batches)}
    # The last slice is followed by none.
    assert server.sql("SELECT count(*) FROM offcpu")["rows"] == [[cnt - 1]]
    assert waits_of(server.get("waits")) == waits_of(server.get("wakers")) == cnt - 1


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse")
def test_the_first_part_is_shown_while_the_rest_is_read(large, serve, tmp_path):  # noqa: F811
    links, at, last = tmp_path / "links", tmp_path / "slow", f"events-{BATCHES:06d}.parquet"
    links.mkdir()
    at.mkdir()
    for file in large.iterdir():
        (links / file.name).symlink_to((at if file.name == last else large) / file.name)
    (large / ".hang").write_text(HANGS)
    with subprocess.Popen([BUILD / "tests" / "slowfs", large, at], stdout=subprocess.PIPE, text=True) as slow:
        assert slow.stdout.readline() == "mounted\n"
        try:
            server = serve(links)
            part = server.get("recording")
            assert part["partial"] and not part["stuck"] and part["duration_ns"] < FIRST * SECOND
            check_shows(server, FIRST)
            (large / ".hang").unlink()
            wait_read(server, partial=False, stuck=False)
            check_shows(server, BATCHES)
            assert server.get("recording")["duration_ns"] > (BATCHES - 1) * SECOND
            server.close()
        finally:
            (large / ".hang").unlink(missing_ok=True)
            subprocess.run(["umount", "-l", at], check=True)
            slow.terminate()


def test_a_rest_that_cannot_be_read_leaves_the_first_part(large, serve, tmp_path):  # noqa: F811
    for file in large.iterdir():
        data = bytearray(file.read_bytes())
        if file.name == f"events-{BATCHES:06d}.parquet":
            data[1000000:5000000] = bytes(4000000)
        (tmp_path / file.name).write_bytes(data)
    server = serve(tmp_path)
    wait_read(server, partial=True, stuck=True)
    check_shows(server, FIRST)
    assert f"{tmp_path}: the page shows only the first part of this recording" in server.close()


def test_an_end_while_it_reads_is_no_damage(serve, tmp_path):  # noqa: F811
    b = Batch()
    for number in range(10_000):
        b.profile(number, names(*(f"f{number}_{depth}" for depth in range(50))))
    messages = serve(b.write(tmp_path / "stacks")).close()
    assert messages.count("\n") == 1 and "Ctrl-C ends it" in messages


def test_a_selection_is_read_at_once(large, serve):  # noqa: F811
    server = serve(large, "--from", f"{BATCHES - 1}s")
    assert not server.get("recording")["partial"]
    assert rows_of(server) == {"profile": 10, "switch": 10, "vfs_read": ROWS, "wake": 10}
    server.close()
