# SPDX-License-Identifier: GPL-2.0-or-later
"""The line that a terminal shows while a command takes long."""
import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from conftest import EXPORT
from recordings import Batch, names


def read_until(fd, text):
    """Returns what comes up to the text, to the end, or within 30 s."""
    out = b""
    while text not in out and select.select([fd], [], [], 30)[0]:
        try:
            chunk = os.read(fd, 4096)
        except OSError:  # the other side is closed
            break
        out += chunk
    return out


@contextlib.contextmanager
def slow_query(tmp_path, **kw):
    """Starts a query that ends only when something is written to the FIFO that it reads."""
    rec = Batch().profile(0, names("f")).write(tmp_path / "r\x1b")
    os.mkfifo(tmp_path / "slow")
    sql = f"SELECT count(*) AS n FROM events, read_csv('{tmp_path}/slow', columns = {{'x': 'INTEGER'}}, header = false, auto_detect = false)"
    slow = os.open(tmp_path / "slow", os.O_RDWR)  # the query's opens do not block, its reads do
    p = subprocess.Popen([EXPORT, "query", sql, "-r", rec], cwd="/", stdout=subprocess.PIPE, **kw)
    try:
        yield p, slow
    finally:
        p.kill()
        p.wait()


def feed(slow, text):
    """Writes to the FIFO, and ends it once the query has read that."""
    unread = b"...."
    os.write(slow, text)
    for _ in range(3000):
        unread = fcntl.ioctl(slow, termios.FIONREAD, b"....")
        if not any(unread):
            break
        time.sleep(0.01)
    os.close(slow)
    assert not any(unread), "the query reads nothing"


def test_a_terminal_shows_what_is_read_until_the_result_is_there(tmp_path):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 250, 0, 0))
    with slow_query(tmp_path, stderr=theirs) as (p, slow):
        os.close(theirs)
        shown = read_until(ours, b" MB)")
        feed(slow, b"1\n2\n")
        assert p.communicate(timeout=60)[0].split() == [b"n", b"2"]
    assert re.search(rb"^\r\x1b\[K\d+ s, query \d+(, \d+ %)?: reading .*/r\? \(2 files, 0 MB\)$", shown), shown
    assert read_until(ours, b"never").endswith(b"\r\x1b[K"), "nothing is left of it"
    os.close(ours)


def test_a_pipe_gets_no_progress(tmp_path):
    with slow_query(tmp_path, stderr=subprocess.PIPE) as (p, slow):
        feed(slow, b"1\n")
        assert p.communicate(timeout=60) == (b"n\n1\n", b"")
