# SPDX-License-Identifier: GPL-2.0-or-later
"""Slow files: no event is lost because of them, and their stacks are complete once the files are read."""
import os
import pathlib
import shutil
import struct
import subprocess
import time

import pytest

from conftest import BUILD, EXAMPLES, alone, needs_bpf, wait_status, wait_worked

pytestmark = [needs_bpf, alone]

BUSY = (
    "volatile unsigned long sink;\n__attribute__((noinline)) void spin(long n) { for (long i = 0; i < n; i++) sink += i; }\n"
    "__attribute__((noinline)) int work(void) { spin(100000); return 1; }\n"
    "int main(void) { while (work()) ; return 0; }\n"
)


class SlowFolder:
    """A folder that a FUSE server serves, at normal speed until it is told otherwise."""

    def __init__(self, source, at):
        self.source, self.at = source, at
        source.mkdir()
        at.mkdir()

    def mount(self):
        self.server = subprocess.Popen([BUILD / "tests" / "slowfs", self.source, self.at], stdout=subprocess.PIPE, text=True)
        line = self.server.stdout.readline()
        if line != "mounted\n":
            pytest.skip("no FUSE here")

    def delay(self, ms):
        (self.source / ".delay").write_text(str(ms))

    def hang(self, yes=True, between=()):
        flag = self.source / ".hang"
        flag.write_text(" ".join(str(b) for b in between)) if yes else flag.unlink(missing_ok=True)

    def close(self):
        self.hang(False)
        self.delay(0)
        subprocess.run(["umount", "-l", self.at], stderr=subprocess.DEVNULL)
        self.server.kill()
        self.server.wait()


@pytest.fixture
def slow(tmp_path):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no /dev/fuse")
    folder = SlowFolder(tmp_path / "source", tmp_path / "slow")
    folder.mount()
    yield folder
    folder.close()


def ends(r, command):
    return dict(r.rows(f"SELECT unwind, count(*) FROM events WHERE kind = 'profile' AND command = '{command}' AND ustack_id IS NOT NULL GROUP BY 1"))


def lost(r):
    return r.one("SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost'")


def stop_soon(c):
    """The events of other programs are complete, and none of them waits for the hanging file."""
    before = time.monotonic()
    r = c.stop()
    assert time.monotonic() - before < 60
    assert r.returncode == 0
    assert lost(r) == 0, r.stderr
    for command in ("cpu", "fresh"):
        found = ends(r, command)
        assert found["root"] / sum(found.values()) > 0.95, found
    return r


def run_from(slow, spawn, compile_c, name):
    shutil.copy(compile_c(BUSY, name=name), slow.source / name)
    p = spawn(slow.at / name)
    wait_worked(0.05, p)
    return p


def test_a_slow_file_delays_only_its_own_stacks(slow, start, spawn, compile_c):
    """Its stacks are delayed and complete. Those of other programs are not delayed."""
    busy = run_from(slow, spawn, compile_c, "slowly"), spawn(EXAMPLES / "cpu", 300)
    slow.delay(80)
    c = start("-p", "profile:u:199", "slowly", "cpu", "--no-cache")
    time.sleep(3)
    wait_worked(0.1, *busy)
    r = c.stop()
    assert r.returncode == 0
    assert lost(r) == 0
    for command in ("slowly", "cpu"):
        assert set(ends(r, command)) == {"root"}, r.stderr
    first = dict(r.rows("SELECT command, min(timestamp) FROM events WHERE kind = 'profile' GROUP BY 1"))
    assert abs(first["slowly"] - first["cpu"]) < 1_000_000_000
    names = [n for n, _, _, _ in r.stacks("kind = 'profile' AND command = 'slowly'")]
    assert sum(n[-2:] == ["__libc_start_main_impl", "_start"] or n[-1] == "_start" for n in names) == len(names)
    assert any(n[:3] == ["spin", "work", "main"] for n in names)


def test_a_file_that_never_answers_harms_only_its_own_stacks(slow, start, spawn, compile_c, tmp_path):
    """Only stacks that need the file are without it. All others are complete, also those of a new program."""
    busy = run_from(slow, spawn, compile_c, "hung"), spawn(EXAMPLES / "cpu", 300)
    slow.hang()
    status = tmp_path / "status"
    c = start("-p", "profile:u:199,switch:u", "--ring-size", "64M", "--status", status, "--no-cache")
    wait_status(status, lambda s: s["waited"] > 0)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    time.sleep(3)
    wait_worked(0.5, fresh, *busy)
    fresh.kill()
    r = stop_soon(c)
    assert sum(n for how, n in ends(r, "hung").items() if how != "root") > 50
    # A leaf that stores nothing has its return address on top of its stack: a guess leads to libc and to the root.
    assert r.rows("SELECT ustack FROM stacks WHERE command = 'hung' AND unwind = 'root' AND NOT list_contains(list_transform(ustack, lambda f: f.mark), 'guess')") == []


def test_no_program_is_run_to_read_a_file(slow, start, spawn, compile_c, tmp_path):
    """The collector itself checks whether a file server answers, whatever is in root's PATH."""
    ran, folder = tmp_path / "ran", tmp_path / "bin"
    folder.mkdir()
    for name in "head", "cat", "sh":
        (folder / name).write_text(f"#!/bin/bash\necho $0 >> {ran}\n")
        (folder / name).chmod(0o755)
    busy = run_from(slow, spawn, compile_c, "served")
    c = start("-p", "profile:u:199", "served", "--no-cache", env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    wait_worked(0.3, busy)
    r = c.stop()
    assert ends(r, "served").get("root", 0) > 10
    assert not ran.exists(), ran.read_text()


def section(program, name):
    """Start and end of the section in the file."""
    for line in subprocess.run(["readelf", "-SW", program], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if name in words:
            at = words.index(name)
            return int(words[at + 3], 16), int(words[at + 3], 16) + int(words[at + 4], 16)
    raise KeyError(name)


def test_symbols_that_never_come_harm_only_their_file(slow, start, spawn, compile_c, tmp_path):
    """A file that answers until its symbols are read: only its own names are missing."""
    labels = "".join(f"{'a' * 100}{i}:\\n" for i in range(40000))
    program = compile_c(f'__asm__("{labels}");\n' + BUSY, name="mute")
    shutil.copy(program, slow.source / "mute")
    others = spawn(EXAMPLES / "cpu", 300)
    start_, end = section(program, ".strtab")
    slow.hang(between=(start_ + (1 << 20), end - (1 << 20)))
    mute = spawn(slow.at / "mute")
    status = tmp_path / "status"
    c = start("-p", "profile:u:199,switch:u", "--ring-size", "64M", "--status", status, "--no-cache")
    time.sleep(3)
    fresh = spawn(compile_c(BUSY, name="fresh"))
    time.sleep(3)
    wait_worked(0.5, fresh, mute, others)
    fresh.kill()
    r = stop_soon(c)
    assert sum(ends(r, "mute").values()) > 50
    assert any(n[:3] == ["spin", "work", "main"] for n, _, _, _ in r.stacks("kind = 'profile' AND command = 'fresh'"))


def grow(program, hole):
    """Inserts a hole of this size before the section headers, as large debug information would."""
    data = bytearray(pathlib.Path(program).read_bytes())
    shoff = struct.unpack_from("<Q", data, 0x28)[0]
    headers, data = data[shoff:], data[:shoff]
    struct.pack_into("<Q", data, 0x28, shoff + hole)
    with open(program, "wb") as f:
        f.write(data)
        f.seek(shoff + hole)
        f.write(headers)


def test_a_large_cold_file_is_read_in_part(start, spawn, compile_c, tmp_path):
    """A gigabyte that is not in the page cache: only the necessary parts of it are read."""
    program = compile_c(BUSY, name="large")
    grow(program, 1 << 30)
    busy = spawn(program)
    fd = os.open(program, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    c = start("-p", "profile:u:199", "large", "--no-cache", "--status", tmp_path / "status")
    wait_worked(0.3, busy)
    wait_status(tmp_path / "status", lambda s: s["samples"] > 10 and s["waiting"] == s["tables"]["pending"] == s["reading"] == 0)
    read = int(next(l for l in open(f"/proc/{c.pid}/io") if l.startswith("rchar")).split()[1])
    r = c.stop()
    assert lost(r) == 0
    assert set(ends(r, "large")) == {"root"}, r.stderr
    assert read < 200 << 20
