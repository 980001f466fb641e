# SPDX-License-Identifier: GPL-2.0-or-later
"""live: the full screen, in tmux: panes, keys, filter, pause, resize; from a recording and from a collector that it starts."""
import glob
import os
import shutil
import subprocess
import time

import pytest

from conftest import BUILD, EXPORT
from exporter import run
from recordings import SECOND, Batch, kernel, names

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is missing: run make setup-tests")


class Terminal:
    """A terminal of 80x24 in which a program runs."""

    def __init__(self, folder, *args):
        self.call = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        command = " ".join(map(str, args))
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", "-e", "LC_ALL=C.UTF-8", f"{command} 2>{folder}/err; echo ended $?; sleep 1000")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *args):
        return subprocess.run([*self.call, *args], capture_output=True, text=True, timeout=30, check=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def wait(self, *texts, absent=()):
        """Waits until the screen has the texts, and returns its lines."""
        for _ in range(600):
            screen = self.tmux("capture-pane", "-p")
            if all(t in screen for t in texts) and not any(t in screen for t in absent):
                return screen.splitlines()
            time.sleep(0.1)
        raise AssertionError(f"{texts} is not on the screen:\n{screen}")


@pytest.fixture
def rec(tmp_path):
    b = Batch()
    for at in range(10):
        b.profile(at * SECOND, names("hash", "work", "main"), kernel("sys"), count=3, pid=1, tgid=1, command="server", thread="server")
        b.profile(at * SECOND + 500, names("draw_é", "main"), pid=2, tgid=2, command="other", thread="other")
        b.slice(at * SECOND, at * SECOND + 1000, "sleeping", names("read", "load", "main"), pid=1, tgid=1, command="server", thread="server")
    return b.write(tmp_path / "rec")


def test_panes_filter_pause_and_size(rec, tmp_path):
    with Terminal(tmp_path, EXPORT, "live", rec) as t:
        lines = t.wait("self s", "sys", "draw_é", "q: quit")
        assert len(lines) == 24 and max(map(len, lines)) <= 80 and "1 functions" in lines[0]
        assert next(line for line in lines if "sys" in line).split()[:2] == ["0.303", "75.0"]
        t.keys("/", "o", "t", "h", "e", "r")
        t.wait("filter: other_", "draw_é", absent=["sys"])
        t.keys("Enter", "Escape")
        t.wait("sys", absent=["filter: "])
        t.keys("Right")
        t.wait("blocked s", "read")
        t.keys("3")
        t.wait("server (1)", "other (2)")
        t.keys("Right")
        lines = t.wait("main", "work", "hash", "sys", absent=["blocked s"])
        assert [i for i, line in enumerate(lines) if line.startswith("main")] == [2] and lines[3].split() == ["work", "draw_é"]
        t.keys("Space")
        t.wait("paused")
        t.tmux("resize-window", "-x", "40", "-y", "12")
        lines = t.wait("main", "arrows: pane")
        assert len(lines) == 12 and max(map(len, lines)) <= 40
        t.keys("q")
        t.wait("ended 0")


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no /dev/fuse")
def test_keys_are_answered_while_files_are_read(rec, tmp_path):
    at, links, slowfs = tmp_path / "slow", tmp_path / "links", BUILD / "tests" / "slowfs"
    at.mkdir()
    links.mkdir()
    for file in rec.iterdir():
        (links / file.name).symlink_to(at / file.name)
    with subprocess.Popen([slowfs, rec, at], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "mounted\n"
        try:
            with Terminal(tmp_path, EXPORT, "live", links) as t:
                t.wait("self s", "sys", "has ended")
                (rec / ".hang").touch()
                t.keys("2", "/", "o", "t")
                t.wait("reading", "filter: ot_")
                t.keys("Escape", "1")
                t.wait("reading", absent=["filter: "])
                (rec / ".hang").unlink()
                t.wait("self s", "sys", "has ended")
                t.keys("q")
                t.wait("ended 0")
        finally:
            (rec / ".hang").unlink(missing_ok=True)
            subprocess.run(["umount", "-l", at], check=True)
            server.terminate()


def test_options_select_and_new_rows_are_shown(rec, tmp_path):
    with Terminal(tmp_path, EXPORT, "live", rec, "-c", "other") as t:
        t.wait("draw_é", absent=["sys"])
        Batch().profile(12 * SECOND, names("fresh"), command="other").write(rec, 2)
        t.wait("fresh")
        t.keys("C-c")
        t.wait("ended 0")


@pytest.mark.skipif(os.geteuid() != 0, reason="recording needs root")
def test_it_starts_a_collector_and_ends_it(tmp_path):
    before = set(glob.glob("/tmp/stacks-live-*"))
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        with Terminal(tmp_path, EXPORT, "live", "-p", "profile,switch") as t:
            t.keys("3")
            t.wait(f"sh ({busy.pid})")
            t.keys("2", "/", "p", "o", "l", "l", "Enter")
            t.wait("poll", "tmux")  # a function of libc: switches have user stacks
            t.keys("q")
            t.wait("ended 0")
    finally:
        busy.kill()
        busy.wait()
    assert set(glob.glob("/tmp/stacks-live-*")) <= before


@pytest.mark.parametrize("options, sources", [
    ([], "profile:uk,switch:uk"),
    (["-p", "profile,switch"], "profile:uk,switch:uk"),
    (["-p", "switch::10ms,profile:u:999,rss"], "switch:uk::10ms,profile:u:999,rss"),
    (["-p", "profile:n,switch:k,usdt:/a/switch"], "profile:n,switch:k,usdt:/a/switch"),
    (["-p", "all"], "all,profile:uk,switch:uk"),
    (["-p", "all,switch:10ms:k"], "all,switch:10ms:k,profile:uk"),
])
def test_what_it_shows_has_user_and_kernel_stacks(tmp_path, options, sources):
    for d in ("bin", "lib"):
        (tmp_path / d).mkdir()
    shutil.copy(EXPORT, tmp_path / "bin")
    (tmp_path / "lib" / "stacks").symlink_to(BUILD / "lib" / "stacks")
    (tmp_path / "bin" / "collector").write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/called\n')
    (tmp_path / "bin" / "collector").chmod(0o755)
    with Terminal(tmp_path, tmp_path / "bin" / "stacksexport", "live", *options) as t:
        t.wait("ended 1")
    assert (tmp_path / "called").read_text().split()[-2:] == ["-p", sources]


def test_what_it_cannot_do_it_says(rec, tmp_path):
    assert "needs a terminal" in run("live", rec, status=2).stderr
    with Terminal(tmp_path, EXPORT, "live", "-p", "nonsense") as t:
        t.wait("ended 1")
    assert "nonsense" in (tmp_path / "err").read_text()
