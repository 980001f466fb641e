# SPDX-License-Identifier: GPL-2.0-or-later
"""A large recording in `stacksexport view`: its begin is shown while the rest is read (src/stacksexport/web/steps.c)."""
import base64
import os
import random
import subprocess

import pytest

from viewserver import serve  # noqa: F401
from conftest import BUILD, wait_for
from recordings import SECOND, Batch, names
from webclient import functions

BATCHES = 4  # the first three are the first step
ROWS = 7000  # 6 MB of events: the names of threads cannot be compressed
HANGS = "1000000 5000000"  # bytes of a file that are not needed to open a recording


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A second for each batch, with a thread for each of many calls, and CPU samples of a function of its own."""
    folder, names_from = tmp_path_factory.mktemp("steps") / "rec", random.Random(1)
    for number in range(BATCHES):
        b, at = Batch(), number * SECOND
        for row in range(ROWS):
            thread = base64.b64encode(names_from.randbytes(1000)).decode()
            b.add("vfs_read", at + row * 1000, duration=10, amount=1, thread=thread)
        b.profile(at, names(f"part{number}", "main"), count=10)
        b.write(folder, number + 1)
    assert all(path.stat().st_size > 5.6e6 for path in folder.glob("events-*"))
    return folder


def rows_of(server):
    return {kind["kind"]: kind["rows"] for kind in server.get("recording")["kinds"]}


def check_shows(server, batches):
    assert rows_of(server) == {"profile": 10 * batches, "vfs_read": ROWS * batches}
    found = functions(server.get("functions", metric="cpu"))
    assert {name for _, name in found} == {"main"} | {f"part{number}" for number in range(batches)}


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse")
def test_the_begin_is_shown_while_the_rest_is_read(large, serve, tmp_path):  # noqa: F811
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
            begin = server.get("recording")
            assert begin["partial"] and not begin["stuck"] and begin["duration_ns"] < 3 * SECOND
            check_shows(server, BATCHES - 1)
            assert server.sql("SELECT count(*) FROM events")["rows"] == [[(ROWS + 10) * (BATCHES - 1)]]
            (large / ".hang").unlink()
            wait_for(lambda: not server.get("recording")["partial"])
            check_shows(server, BATCHES)
            assert server.get("recording")["duration_ns"] > 3 * SECOND
            assert server.sql("SELECT count(*) FROM events")["rows"] == [[(ROWS + 10) * BATCHES]]
            server.close()
        finally:
            (large / ".hang").unlink(missing_ok=True)
            subprocess.run(["umount", "-l", at], check=True)
            slow.terminate()


def test_a_rest_that_cannot_be_read_leaves_the_begin(large, serve, tmp_path):  # noqa: F811
    for file in large.iterdir():
        data = bytearray(file.read_bytes())
        if file.name == f"events-{BATCHES:06d}.parquet":
            data[1000000:5000000] = bytes(4000000)
        (tmp_path / file.name).write_bytes(data)
    server = serve(tmp_path)
    wait_for(lambda: server.get("recording")["stuck"])
    assert server.get("recording")["partial"]
    check_shows(server, BATCHES - 1)
    assert f"{tmp_path}: the page shows only the begin of this recording" in server.close()


def test_a_selection_is_read_at_once(large, serve):  # noqa: F811
    server = serve(large, "--from", "3s")
    assert not server.get("recording")["partial"]
    assert rows_of(server) == {"profile": 10, "vfs_read": ROWS}
    server.close()
