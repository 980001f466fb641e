# SPDX-License-Identifier: GPL-2.0-or-later
"""vfs: the bytes that calls read from and write to files."""
import pathlib
import subprocess
import tempfile

import pytest

from books import compare
from conftest import BUILD, needs_bpf

pytestmark = needs_bpf

CALLS = BUILD / "tests" / "vfs_calls"
OVERLAY = "cd {0} && mkdir -p below above work && mount -t overlay -o lowerdir=below,upperdir=above,workdir=work none folder"


def fs_of(path):
    out = subprocess.run(["findmnt", "-no", "FSTYPE", "-T", path], check=True, capture_output=True, text=True).stdout
    return out.split()[0]


@pytest.fixture
def place(request):
    """A folder in memory, or below the parameter of the test."""
    with tempfile.TemporaryDirectory(dir=getattr(request, "param", "/dev/shm")) as path:
        (pathlib.Path(path) / "folder").mkdir()
        yield pathlib.Path(path)


def python(record, script, *args, programs="vfs"):
    return record("-p", programs, "--", "/usr/bin/python3", "-c", "import os\n" + script, *args)


# ---- bytes -----------------------------------------------------------------------------------------------------------

PARTS = [("/var/tmp", "all"), *(("/dev/shm", part) for part in ("all", "compat", "errors", "signals", "threads"))]


@pytest.mark.parametrize("place, part", PARTS, indirect=["place"])
def test_rows_add_up_to_every_call(record, place, part):
    r = record("-p", "vfs", "--", CALLS, part, place / "folder")
    compare(r, (place / "folder" / "report").read_text())
    assert set(r.rows("SELECT DISTINCT fs FROM events WHERE file IN ('read', 'errors', 'threads')")) <= {(fs_of(place),)}
    # Every row without an error has a duration.
    assert r.one("SELECT min(duration) FROM events") > 0


def test_a_file_system_on_another_is_counted_once(record, place):
    if subprocess.run(["unshare", "-m", "sh", "-c", OVERLAY.format(place)], capture_output=True).returncode:
        pytest.skip("needs overlayfs, to be mounted")
    script = OVERLAY.format(place) + f" && {CALLS} all folder && cp folder/report report"
    r = record("-p", "vfs", "--", "unshare", "-m", "sh", "-c", script)
    compare(r, (place / "report").read_text())
    assert r.rows("SELECT DISTINCT fs FROM events WHERE file IN ('read', 'write', 'copy.in', 'copy.out')") == [("overlay",)]


PATHS = """
import ctypes, os, sys
os.chdir(sys.argv[1])
fd = os.open("new", os.O_CREAT | os.O_RDWR)
os.fsync(fd)
os.fdatasync(fd)
ctypes.CDLL(None).sync_file_range(fd, ctypes.c_long(0), ctypes.c_long(0), 2)
os.fstat(fd)
os.rename("new", os.path.abspath("./renamed"))
os.rename("renamed", "again", src_dir_fd=None, dst_dir_fd=os.open(".", os.O_RDONLY | os.O_DIRECTORY))
os.stat("again"), os.lstat("../" + os.path.basename(os.getcwd()) + "/again")
os.unlink("again")
libc = ctypes.CDLL(None)
libc.open(b"missing", 0), libc.unlink(b"missing"), libc.rename(b"missing", b"x" * 255), libc.fsync(-1)
libc.open(ctypes.c_void_p(8), 0)
"""


def test_calls_with_a_path(record, place):
    r = python(record, PATHS, place / "folder")
    rows = r.rows("SELECT kind, path, file, fs, reason, duration > 0 FROM events WHERE command = 'python3' AND kind NOT IN ('vfs_read', 'vfs_write') "
                  "AND timestamp >= (SELECT min(timestamp) FROM events WHERE path = 'new') AND ifnull(path, '') NOT LIKE '%.%' "
                  "AND ifnull(path, '') NOT LIKE '/usr%' AND ifnull(path, '') NOT LIKE '/proc%' ORDER BY timestamp")
    rows = [row for row in rows if row[0] != "vfs_stat" or row[2] in ("new", "again")]
    path = f"{place}/folder/new"
    assert rows[:8] == [
        ("vfs_open", "new", "new", "tmpfs", None, True), ("vfs_fsync", path, "new", "tmpfs", None, True),
        ("vfs_fdatasync", path, "new", "tmpfs", None, True), ("vfs_sync_file_range", path, "new", "tmpfs", None, True), ("vfs_stat", path, "new", "tmpfs", None, True),
        ("vfs_rename", f"{place}/folder/renamed", "renamed", None, None, True), ("vfs_rename", "again", "again", None, None, True),
        ("vfs_stat", "again", "again", None, None, True),
    ]
    assert ("vfs_unlink", "again", "again", None, None, True) in rows
    assert [row[:2] + row[4:5] for row in rows[-5:]] == [
        ("vfs_open", "missing", "ENOENT"), ("vfs_unlink", "missing", "ENOENT"), ("vfs_rename", "x" * 255, "ENOENT"),
        ("vfs_fsync", None, "EBADF"), ("vfs_open", None, "EFAULT")]
    assert r.rows("SELECT path, file FROM events WHERE kind = 'vfs_stat' AND path LIKE '../%'") == [("../folder/again", "again")]


def test_two_sides_of_a_call_are_two_rows_of_one_time(record, place):
    (place / "from").write_bytes(bytes(5000))
    r = python(record, f"""
os.chdir('{place}')
os.sendfile(os.open('to', os.O_CREAT | os.O_WRONLY), os.open('from', 0), 0, 9000)
""")
    assert r.rows("SELECT w.file, r.amount, w.amount, r.duration = w.duration FROM events r JOIN events w "
                  "USING (timestamp, pid) WHERE r.kind = 'vfs_read' AND w.kind = 'vfs_write' AND r.file = 'from'") == [
        ("to", 5000, 5000, True)]


def test_the_duration_is_the_time_in_the_call(record):
    r = python(record, """
import time
r, w = os.pipe()
if os.fork():
    os.close(w)
    before = time.monotonic_ns()
    os.read(r, 10)
    print(time.monotonic_ns() - before)
else:
    while open(f'/proc/{os.getppid()}/syscall').read().split()[0] != '0':
        pass
    time.sleep(.2)
    os.write(w, b'x' * 3)
""")
    rows = r.rows("SELECT amount, duration FROM events WHERE kind = 'vfs_read' AND fs = 'pipefs' AND amount = 3")
    assert len(rows) == 1
    assert 200e6 <= rows[0][1] < int(r.stdout)


# ---- names -----------------------------------------------------------------------------------------------------------

def test_names_are_kept_as_they_are(record, place):
    r = python(record, f"""
for name in (b'plain', b'new\\nline', b'x' * 255, b'\\xff\\xfe', 'größe'.encode()):
    fd = os.open(b'{place}/' + name, os.O_CREAT | os.O_RDWR)
    if name == b'plain':
        os.unlink(b'{place}/plain')
    os.write(fd, b'1' * (1000 + len(name)))
""")
    assert r.rows("SELECT file, amount FROM events WHERE kind = 'vfs_write' AND amount >= 1000 ORDER BY timestamp") == [
        ("plain", 1005), ("new\nline", 1008), ("x" * 255, 1255), ("\ufffd\ufffd", 1002), ("größe", 1007)]


def test_open_files_have_their_path(record, place):
    """Across mounts, and whatever was renamed. Without one, a file keeps its name."""
    r = python(record, f"""
os.chdir('{place}')
a = os.open('a', os.O_CREAT | os.O_WRONLY)
for size in (2001, 2002):
    os.write(a, b'x' * size)
os.rename('a', 'folder/b')
os.write(a, b'x' * 2003)
os.unlink('folder/b')
os.write(a, b'x' * 2004)
os.makedirs('d/' * 40)
os.write(os.open('d/' * 40 + 'deep', os.O_CREAT | os.O_WRONLY), b'x' * 2005)
os.makedirs('l' * 200)
os.write(os.open('l' * 200 + '/' + 'm' * 60, os.O_CREAT | os.O_WRONLY), b'x' * 2006)
os.write(os.memfd_create('memory'), b'x' * 2007)
os.write(os.pipe()[1], b'x' * 2008)
with open('/proc/self/comm', 'r+b', buffering=0) as f:
    f.write(b'x' * 2009)
root = os.open('/', os.O_RDONLY | os.O_DIRECTORY)
os.fsync(root)
print(os.getpid())
""")
    rows = r.rows("SELECT amount, path, file FROM events WHERE kind = 'vfs_write' AND amount BETWEEN 2001 AND 2009 ORDER BY timestamp")
    assert rows == [
        (2001, f"{place}/a", "a"), (2002, f"{place}/a", "a"), (2003, f"{place}/folder/b", "b"), (2004, f"{place}/folder/b", "b"),
        (2005, None, "deep"), (2006, None, "m" * 60), (2007, None, "memfd:memory"), (2008, None, None), (2009, f"/proc/{r.stdout.strip()}/comm", "comm")]
    assert r.rows("SELECT path FROM events WHERE kind = 'vfs_fsync'") == [("/",)]


def test_files_of_every_kind_have_names(record):
    r = python(record, """
import ctypes, socket
m = os.memfd_create('memory')
os.write(m, b'x' * 501)
ctypes.CDLL(None).eventfd(1, 0)
os.read(m + 1, 8)
os.read(os.open('/proc/self/stat', 0), 5)
os.read(os.open('/dev/zero', 0), 6)
s = socket.create_server(('127.0.0.1', 0))
c, a = socket.create_connection(s.getsockname()), s.accept()[0]
os.write(c.fileno(), b'x' * 507)
assert len(os.read(a.fileno(), 1000)) == 507
t = os.openpty()
os.write(t[1], b'x' * 17)
print(os.path.basename(os.ttyname(t[1])))
""")
    rows = set(r.rows("SELECT kind, file, fs, amount FROM events WHERE command = 'python3'"))
    assert {("vfs_write", "memfd:memory", "tmpfs", 501), ("vfs_read", "[eventfd]", "anon_inodefs", 8),
            ("vfs_read", "stat", "proc", 5), ("vfs_read", "zero", "devtmpfs", 6),
            ("vfs_write", r.stdout.strip(), "devpts", 17)} <= rows
    assert 507 not in {amount for *_, amount in rows}


# ---- stacks and processes --------------------------------------------------------------------------------------------

def test_stacks_are_recorded_on_request(record, place):
    r = record("-p", "vfs:uk", "--", CALLS, "all", place / "folder")
    compare(r, (place / "folder" / "report").read_text())
    stacks = r.rows("SELECT unwind, list_transform(ustack, lambda f: f.name), kstack_id FROM stacks "
                    "WHERE kind = 'vfs_write' AND file = 'pwritev2'")
    for unwind, names, kstack in stacks:
        assert unwind == "root" and "do_all" in names and names[-1] == "_start" and kstack
    assert len(stacks) == 7


def test_only_selected_commands_are_recorded(start, place):
    c = start("-p", "vfs", "vfs_calls")
    subprocess.run([CALLS, "all", place / "folder"], check=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={place}/other", "bs=7919", "count=3"], check=True, capture_output=True)
    r = c.stop()
    compare(r, (place / "folder" / "report").read_text())
    assert r.rows("SELECT DISTINCT command FROM events") == [("vfs_calls",)]
    assert r.one("SELECT count(ustack_id) + count(kstack_id) FROM events") == 0
