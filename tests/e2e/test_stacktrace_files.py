# SPDX-License-Identifier: GPL-2.0-or-later
"""The places where stacktrace finds the programs of a recording: sysroots, build IDs, a debuginfod server, containers."""
import os
import re
import shutil
import socket
import struct
import subprocess
import time
import urllib.error
import urllib.request
import uuid

import pytest

from conftest import ROOT
from perfdata import PERF, Samples, capture_of, frame, needs_perf, perf, pprof, record, run

pytestmark = needs_perf

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class Program:
    """A program that exists only here: static, so that all its code is in one file, with its own build ID."""

    def __init__(self, path, level="-O2"):
        self.path, self.build_id = path, uuid.uuid4().hex + "01234567"
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", level, "-g", "-static", f"-Wl,--build-id=0x{self.build_id}", "-o", path, ROOT / "examples/deep.c"],
                       check=True)


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path / "bin" / "deep")


def whole(path, *args, env=None):
    """The share of samples with complete stacks and names, and the messages."""
    out = path.with_name("prof.pb.gz")
    said = run("-i", path, "-o", out, "-v", *args, env={**os.environ, "HOME": "/nowhere", **(env or {})}).stderr.decode()
    share = float(said.split("% to the root")[0].split()[-1])
    if share > 50:
        assert "descend" in pprof(out, "-top", "-symbolize=none")
    return share, said


DEEP = "0.5", "5"  # seconds, depth
BUILD_IDS = ["--buildid-mmap"]  # each mapping is recorded with its build ID


def deep(path, program, options=()):
    return record(path, program.path, *DEEP, options=options)


@pytest.mark.parametrize("options", [[], BUILD_IDS])
def test_a_sysroot_has_the_files(tmp_path, program, options):
    """The files of the recorded machine, copied. The program itself no longer exists here."""
    data = deep(tmp_path / "perf.data", program, options)
    share, said = whole(data)
    assert share > 99 and "--sysroot" not in said
    here = tmp_path / "here.data"
    run("-i", data, "-o", here)
    root = tmp_path / "root"
    copy = root / str(program.path)[1:]
    copy.parent.mkdir(parents=True)
    shutil.move(program.path, copy)
    share, said = whole(data)
    assert share < 50 and f"as {program.path} (see --sysroot)" in said
    assert whole(data, "--sysroot", root)[0] > 99
    there = tmp_path / "there.data"
    run("-i", data, "-o", there, "--sysroot", root)
    assert there.read_bytes() == here.read_bytes()


def test_another_program_in_its_place_is_not_used(tmp_path, program):
    """A different file that is now at the path is not used."""
    for options in [], BUILD_IDS:
        data = deep(tmp_path / "perf.data", program, options)
        program.path.rename(tmp_path / "before")
        Program(program.path)
        assert whole(data)[0] < 50, options
        program = Program(tmp_path / "bin" / "deep")


def test_folders_of_build_ids_are_searched(tmp_path, program):
    """perf's cache, and the files that debug packages link."""
    data = deep(tmp_path / "perf.data", program, BUILD_IDS)
    home, sysroot = tmp_path / "home", tmp_path / "sysroot"
    in_cache = home / ".debug/.build-id" / program.build_id[:2] / program.build_id[2:] / "elf"
    in_root = sysroot / "usr/lib/debug/.build-id" / program.build_id[:2] / program.build_id[2:]
    for place in in_cache, in_root:
        place.parent.mkdir(parents=True)
        shutil.copy(program.path, place)
    program.path.unlink()
    assert whole(data)[0] < 50
    assert whole(data, env={"HOME": str(home)})[0] > 99
    assert whole(data, "--sysroot", sysroot)[0] > 99


# ---- debuginfod ----


class Server:
    """Debian's debuginfod with the files of one folder."""

    def __init__(self, folder):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.p = subprocess.Popen(["debuginfod", "-F", folder, "-p", str(self.port), "-d", ":memory:"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

    def wait_for(self, build_id):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.url}/buildid/{build_id}/executable").close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise TimeoutError("debuginfod has not looked through its folder")


@pytest.mark.skipif(not shutil.which("debuginfod"), reason="no debuginfod in the PATH")
def test_debuginfod_is_asked_on_request(tmp_path, program):
    data = deep(tmp_path / "perf.data", program, BUILD_IDS)
    (tmp_path / "served").mkdir()
    shutil.move(program.path, tmp_path / "served" / "deep")
    server = Server(tmp_path / "served")
    try:
        server.wait_for(program.build_id)
        env = {"DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        assert whole(data, env=env)[0] < 50  # no server is asked without an option
        assert whole(data, "--debuginfod", env={**env, "DEBUGINFOD_URLS": ""})[0] < 50
        share, said = whole(data, "--debuginfod", "--debug", env=env)
        assert share > 99
        assert "1 files downloaded" in said
    finally:
        server.p.kill()
        server.p.wait()
    assert whole(data, "--debuginfod", env=env)[0] > 99  # from its cache
    shutil.rmtree(tmp_path / "cache")
    share, said = whole(data, "--debuginfod", "--debug", env=env)  # and now the server is gone
    assert share < 50 and "0 files downloaded, 1 not found" in said


# ---- containers ----


@pytest.fixture
def container(tmp_path, program):
    """The root folder of a container: an overlay of two layers, with the program in the lower one as /deep."""
    root = tmp_path / "merged"
    for name in "lower", "upper", "work", "merged":
        (tmp_path / name).mkdir()
    shutil.move(program.path, tmp_path / "lower" / "deep")
    layers = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
    # on an overlay: no other
    mount = f"mount -t overlay overlay -o {layers} {root} 2>/dev/null || mount --bind {tmp_path}/lower {root}"
    enter = f"{{ {mount}; }} && cd {root} && pivot_root . . && exec /deep \"$@\""
    return ["unshare", "-m", "sh", "-c", enter, "sh"]


def in_container(data, container, seconds):
    """A recording of the container's program while it runs, and the process."""
    p = subprocess.Popen([*container, seconds, "5"], stdout=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while open(f"/proc/{p.pid}/comm").read() != "deep\n":
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.1)  # behind ld.so
    q = subprocess.run([PERF, "record", "-q", "-N", "-B", "-e", "cpu-clock", "-F", "499", "--call-graph", "dwarf", "-p", str(p.pid),
                        "-o", data, "--", "sleep", "0.5"], capture_output=True)
    assert q.returncode == 0, q.stderr
    return p


@needs_root
def test_programs_are_found_through_the_process(tmp_path, container):
    """While the process runs, /deep is found through its own view. After its end, /deep is unknown."""
    data = tmp_path / "perf.data"
    p = in_container(data, container, "60")
    try:
        assert whole(data)[0] > 99
    finally:
        p.kill()
        p.wait()
    assert whole(data)[0] < 50


@needs_root
def test_programs_are_found_through_the_overlays_of_a_capture(tmp_path, container):
    """sysprof records the host folders that make up the container's root, one record per layer."""
    data, cap = tmp_path / "perf.data", tmp_path / "in.syscap"
    in_container(data, container, "3").wait()
    samples = Samples(data)
    plain = capture_of(samples)
    pid = samples.stacks[0][0]
    layers = b"".join(overlay(pid, layer, tmp_path / name) for layer, name in enumerate(["upper", "lower"]))
    cap.write_bytes(plain)
    assert whole(cap)[0] < 50
    cap.write_bytes(plain[:256] + layers + plain[256:])
    assert whole(cap)[0] > 99


def overlay(pid, layer, source):
    source = str(source).encode()
    return frame(15, pid, 1, struct.pack("<B3xHH", layer, len(source), 1) + source + b"\0/\0")


@needs_root
def test_a_chroot_has_its_own_program_at_the_path(tmp_path, program):
    """perf writes the build ID of the host's file, and the kernel writes the inode of the chroot's file: the inode
    counts."""
    root = tmp_path / "root"
    other = Program(root / str(program.path)[1:], "-O0")
    home, data = tmp_path / "home", tmp_path / "perf.data"
    home.mkdir()

    def recorded(*command):  # with the table of build IDs and perf's cache, which record() leaves out
        p = perf("record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-o", data, "--", *command,
                 env={**os.environ, "HOME": str(home)})
        assert p.returncode == 0, p.stderr

    recorded("chroot", root, program.path, *DEEP)
    table = perf("buildid-list", "-i", data, text=True).stdout
    assert program.build_id in table and other.build_id not in table
    for env in {"HOME": "/nowhere"}, {"HOME": str(home)}:
        share, said = whole(data, env=env)
        assert share < 50, said
        assert f"stacks are cut short in {program.path}: the recording has the build ID of the file with this path here" in said
        assert "--sysroot" in said and "--buildid-mmap" in said
    share, said = whole(data, "--sysroot", root)
    assert share > 99 and "cut short" not in said
    # the stacks of the host's program stay complete
    recorded("sh", "-c", f"{program.path} 0.5 5; chroot {root} {program.path} 0.5 5; true")
    assert 35 < whole(data)[0] < 65
    assert whole(data, "--sysroot", root)[0] > 99


@needs_root
@pytest.mark.skipif(not shutil.which("debuginfod"), reason="no debuginfod in the PATH")
def test_programs_of_an_ended_container_come_from_debuginfod(tmp_path, program, container):
    """Then only debuginfod remains, if mappings were recorded with build IDs."""
    data = record(tmp_path / "perf.data", *container, *DEEP, options=BUILD_IDS)
    server = Server(tmp_path / "lower")
    try:
        server.wait_for(program.build_id)
        env = {"DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        assert whole(data, env=env)[0] < 50
        assert whole(data, "--debuginfod", env=env)[0] > 90  # it also contains sh and unshare
    finally:
        server.p.kill()
        server.p.wait()


BARE_LEAF = r"""
__asm__(".globl spin\n.type spin, @function\nspin: mov $3000000, %ecx\n1: dec %ecx\n jne 1b\n ret"); /* no call-frame information */
void spin(void);
__attribute__((noinline)) void first(void) { spin(); __asm__ volatile(""); }
__attribute__((noinline)) void second(void) { spin(); __asm__ volatile(""); }
__attribute__((noinline)) void both(void) { first(); second(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 100; i++) both(); }
"""
ON_DISK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
ssize_t preadv2(int fd, const struct iovec *parts, int cnt, off_t off, int flags)
{
	if (flags & RWF_NOWAIT && rand() % 100 < atoi(getenv("ON_DISK"))) {
		errno = EAGAIN;
		return -1;
	}
	return preadv(fd, parts, cnt, off);
}
"""


@pytest.mark.parametrize("percent", [100, 40])
def test_files_on_disk_are_waited_for(tmp_path, compile_c, percent):
    """The result is the same if the kernel has none or only a part of the files in memory."""
    program = compile_c(BARE_LEAF, "-fno-omit-frame-pointer")
    preload = compile_c(ON_DISK, "-shared", "-fPIC")
    data = record(tmp_path / "perf.data", "sh", "-c", f"{program}; python3 -c 'import json; [json.dumps(list(range(999))) for _ in range(2000)]'")
    run("-i", data, "-o", tmp_path / "out")
    run("-i", data, "-o", tmp_path / "again", env={**os.environ, "LD_PRELOAD": str(preload), "ON_DISK": str(percent)})
    assert (tmp_path / "again").read_bytes() == (tmp_path / "out").read_bytes()
    found = set(re.findall(r" spin\n.* (\w+)\n.* (\w+)\n", perf("script", "-i", tmp_path / "out", "-F", "ip,sym").stdout.decode()))
    assert found == {("first", "both"), ("second", "both")}
