# SPDX-License-Identifier: GPL-2.0-or-later
"""stacksexport on recordings made by hand: what it writes, what it prints, what it refuses."""
import csv
import gzip
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess

import duckdb
import pytest

from conftest import EXPORT, ROOT
from recordings import BUILD_ID, PERIOD, SECOND, START, Batch, event, frame, kernel, names

PPROF = ROOT / ".deps" / "bin" / "pprof"
CPU = "sql/pprof/cpu_ustacks_for_command.sql"


def run(*args, status=0, **kw):
    """Runs it where there is no sql/ folder, so that what is installed is found."""
    kw.setdefault("cwd", "/")
    kw.setdefault("text", True)
    p = subprocess.run([EXPORT, *map(str, args)], capture_output=True, timeout=120, **kw)
    assert p.returncode == status, p.stderr
    return p


def pprof(path, *args):
    """google/pprof on a file; it must have nothing to complain about."""
    p = subprocess.run([PPROF, *args, path], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": "/tmp"})
    assert p.returncode == 0, p.stderr
    assert p.stderr == ""
    return p.stdout


class Raw:
    """What `pprof -raw` says, taken apart."""

    def __init__(self, path):
        self.text = pprof(path, "-raw")
        head, rest = self.text.split("Samples:\n", 1)
        self.head = head
        samples, rest = rest.split("Locations\n", 1)
        locations, mappings = rest.split("Mappings\n", 1)
        lines = samples.splitlines()
        self.types = lines[0].split()
        self.mappings = mappings.splitlines()
        self.locations, last = {}, None
        for line in locations.splitlines():
            m = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)", line)
            if m:
                last = int(m[1])
                self.locations[last] = (int(m[2], 16), m[3], [m[4]])
            else:
                self.locations[last][2].append(line.strip())
        self.samples = {}
        for line in lines[1:]:
            values, ids = line.split(":")
            stack = tuple(self.name(int(i)) for i in ids.split())
            assert stack not in self.samples, "one sample per stack"
            self.samples[stack] = tuple(map(int, values.split()))

    def name(self, location):
        return re.sub(r" \S+:\d+(:\d+)? s=\d+.*| :0(:0)? s=.*", "", self.locations[location][2][-1])


@pytest.fixture
def rec(tmp_path):
    """A small recording of two commands."""
    b = Batch()
    b.profile(10, names("hash", "lookup", "main", "_start"), count=3)
    b.profile(20, names("fib", "fib", "fib", "main", "_start"), count=2)
    b.profile(30, names("read", "main", "_start"), kernel("vfs_read", "do_syscall_64"))
    b.profile(40, names("poll", "run"), command="other", pid=200, tgid=200, buildid=b"\x99" * 20)
    b.add("lost", 2 * SECOND, duration=SECOND, amount=7, tgid=0, pid=0, command="", buildid=b"", lost_kind="switch", reason="ring_full")
    return b.write(tmp_path / "rec")


# ---- pprof ---------------------------------------------------------------------------------------------------------


def test_profile(rec, tmp_path):
    out = tmp_path / "out.pb.gz"
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", out)
    assert p.stdout == ""
    assert f"wrote {out}" in p.stderr and f"pprof -http=:0 {out}" in p.stderr and "7 events were lost" in p.stderr
    raw = Raw(out)
    assert raw.types == ["count/count", "cpu_time/nanoseconds[dflt]"]
    assert raw.samples == {
        ("hash", "lookup", "main", "_start"): (3, 3 * PERIOD),
        ("fib", "fib", "fib", "main", "_start"): (2, 2 * PERIOD),
        ("read", "main", "_start"): (1, PERIOD),
    }
    assert "PeriodType: cpu nanoseconds" in raw.head and f"Period: {PERIOD}" in raw.head
    assert "Time: 2023-11-14" in raw.head
    assert "lost events: 7" in raw.head
    assert len(raw.mappings) == 1 and "/usr/bin/prog" in raw.mappings[0] and "ab" * 20 in raw.mappings[0]
    assert "[FN]" in raw.mappings[0]
    assert "Duration: 2" in pprof(out, "-top") and "fib" in pprof(out, "-traces")


def test_kernel_frames_lie_on_top(rec, tmp_path):
    run("pprof", "sql/pprof/cpu_stacks.sql", "-r", rec, "--output", tmp_path / "p.pb.gz")
    raw = Raw(tmp_path / "p.pb.gz")
    assert raw.samples[("vfs_read", "do_syscall_64", "read", "main", "_start")] == (1, PERIOD)
    assert raw.samples[("poll", "run")] == (1, PERIOD)
    assert [m.split()[2] for m in raw.mappings] == ["/usr/bin/prog", "[kernel]"]
    assert "File: prog" in pprof(tmp_path / "p.pb.gz", "-top")


def test_the_program_is_the_first_mapping(tmp_path):
    b = Batch().profile(1, [frame("a", "/lib/libc.so.6"), frame("b", "/opt/x.solid"), frame("c", "/usr/bin/prog")], kernel("k"))
    run("pprof", "sql/pprof/cpu_stacks.sql", "-r", b.write(tmp_path / "r"), "--output", tmp_path / "p")
    assert "File: x.solid" in pprof(tmp_path / "p", "-top")
    assert Raw(tmp_path / "p").samples == {("k", "a", "b", "c"): (1, PERIOD)}


def test_one_location_per_address_and_file(tmp_path):
    b = Batch()
    b.profile(1, [frame("f", address=0x1000, offset=4), frame("f", address=0x1000, offset=8)])
    b.profile(2, [frame("f", address=0x1000, offset=4), frame("g", "/lib/other.so", 0x1000, 4, build_id=None)])
    b.profile(3, [frame(None, "/lib/libx.so.1", 0x2000, 0x34), frame(None, "[anon]", 0x7F00_0000_0000, 1)])
    rec = b.write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert sorted(a for a, _, _ in raw.locations.values()) == [0x1004, 0x1004, 0x1008, 0x2034, 0x7F0000000001]
    assert ("libx.so.1+0x2034", "[anon]+0x7f0000000001") in raw.samples
    assert len(raw.mappings) == 4


def test_offsets(rec, tmp_path):
    run("pprof", CPU, "-c", "prog", "-o", "-r", rec, "--output", tmp_path / "p")
    assert ("fib-10", "fib-10", "fib-10", "main-10", "_start-10") in Raw(tmp_path / "p").samples


def test_samples_without_a_stack_count(tmp_path):
    rec = Batch().profile(1, None, count=5).profile(9, []).write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("[no stack]",): (6, 6 * PERIOD)}


def test_weights_count(tmp_path):
    b = Batch().profile(1, names("f"), weight=29).profile(2, names("f"), weight=None)
    run("pprof", CPU, "-c", "prog", "-r", b.write(tmp_path / "r"), "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("f",): (30, 30 * PERIOD)}


def query_profile(rec, tmp_path, sql, *args, status=0):
    (tmp_path / "q.sql").write_text(sql)
    p = run("pprof", tmp_path / "q.sql", "-r", rec, "--output", tmp_path / "q.pb.gz", *args, status=status)
    return Raw(tmp_path / "q.pb.gz") if status == 0 else p


INTEGERS = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT".split()


@pytest.mark.parametrize("integer", INTEGERS)
def test_every_integer_type(rec, tmp_path, integer):
    raw = query_profile(rec, tmp_path, f"SELECT ustack, count(*)::{integer} AS n, 100::{integer} AS v FROM stacks WHERE ustack[1].name = 'hash' GROUP BY ustack")
    assert raw.samples == {("hash", "lookup", "main", "_start"): (3, 100)}


@pytest.mark.parametrize(
    "value, seen",
    [("-5", -5), ("NULL::BIGINT", 0), ("(-128)::TINYINT", -128), ("18446744073709551615::UBIGINT", 2**63 - 1),
     ("(-170141183460469231731687303715884105727)::HUGEINT", -(2**63)), ("-3::HUGEINT", -3), ("9223372036854775808::UHUGEINT", 2**63 - 1)],
)
def test_values_at_the_ends(rec, tmp_path, value, seen):
    raw = query_profile(rec, tmp_path, f"SELECT ustack, 1 AS n, {value} AS v FROM stacks WHERE ustack[1].name = 'hash' LIMIT 1")
    assert list(raw.samples.values()) == [(1, seen)]


def test_frames_of_ones_own(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT [{'name': 'a', 'address': 5, 'offset': 1::UTINYINT}, NULL, {'name': NULL, 'address': 1, 'offset': 1}] AS s, 1 AS n, 2 AS v")
    assert raw.samples == {("a", "[unknown]+0x2"): (1, 2)}


def test_names_units_and_no_period(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT ustack, count(*), sum(timestamp) * 0 + 3 AS rss_growth FROM stacks WHERE kind = 'profile' GROUP BY 1")
    assert raw.types == ["count(*)/count", "rss_growth/bytes[dflt]"]
    assert "PeriodType: \n" in raw.head or "PeriodType:" not in raw.head or "Period: 0" in raw.head


def test_hostile_names(tmp_path):
    b = Batch().profile(1, names("a\x1b[31m", "b\nc", "é€😀", "x" * 5000))
    rec = b.write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert "é€😀" in pprof(tmp_path / "p", "-raw")
    assert "\x1b" not in run("query", "FROM stacks", "-r", rec).stdout
    assert "\x1b" not in run("top", "-r", rec).stdout


# ---- lines and inlined functions -----------------------------------------------------------------------------------

SOURCE = """\
static volatile int sink;
static inline __attribute__((always_inline)) void inner(void)
{
	sink++;
}
__attribute__((noinline)) void outer(void)
{
	inner();
}
int main(void)
{
	outer();
	return 0;
}
"""


def address_of(prog, symbol):
    out = subprocess.run(["nm", prog], capture_output=True, text=True, check=True).stdout
    return next(int(l.split()[0], 16) for l in out.splitlines() if l.endswith(f" {symbol}"))


def build_id(prog):
    out = subprocess.run(["readelf", "-n", prog], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", out)[1]


@pytest.fixture
def traced(tmp_path, compile_c):
    """A program, and a recording of it that was in inner(), inlined into outer()."""
    prog = compile_c(SOURCE, name="traced")
    at = address_of(prog, "outer")
    f = frame("outer", str(prog), at, 0, build_id(prog), file_offset=at)
    rec = Batch().profile(1, [f], buildid=bytes.fromhex(build_id(prog))).write(tmp_path / "traced.rec")
    return prog, rec


def lines_of(path):
    raw = Raw(path)
    (location,) = raw.locations.values()
    return [re.sub(r"(\S+) \S*/(\S+?):(\d+).*", r"\1 \2:\3", l) for l in location[2]], raw


def test_lines_and_inlines(traced, tmp_path):
    prog, rec = traced
    query = "sql/pprof/cpu_ustacks_for_buildid.sql"
    run("pprof", query, "-b", prog, "-r", rec, "--output", tmp_path / "p")
    assert lines_of(tmp_path / "p")[0] == ["outer prog1.c:8"]
    run("pprof", query, "-b", prog, "-i", "-r", rec, "--output", tmp_path / "p")
    lines, raw = lines_of(tmp_path / "p")
    assert lines == ["inner prog1.c:4", "outer prog1.c:8"]
    assert "[FN][FL][LN][IN]" in raw.mappings[0]


def test_lines_of_a_file_that_was_moved(traced, tmp_path):
    prog, rec = traced
    moved = tmp_path / "moved"
    prog.rename(moved)
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert ":8" not in lines_of(tmp_path / "p")[0][0]
    run("pprof", CPU, "-c", "prog", "-b", moved, "-r", rec, "--output", tmp_path / "p")
    assert lines_of(tmp_path / "p")[0] == ["outer prog1.c:8"]


def test_no_lines_of_another_build(traced, tmp_path, compile_c):
    prog, rec = traced
    other = compile_c(SOURCE.replace("return 0", "return 1"), name="other")
    shutil.copy(other, prog)
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert ":8" not in lines_of(tmp_path / "p")[0][0]


def test_a_binary_without_a_build_id(traced, compile_c, tmp_path):
    prog = compile_c(SOURCE, "-Wl,--build-id=none", name="noid")
    p = run("pprof", "sql/pprof/cpu_ustacks_for_buildid.sql", "-b", prog, "-r", traced[1], status=1)
    assert str(prog) in p.stderr and "no build ID" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-b", "/etc/passwd", "-r", traced[1], status=1)
    assert "/etc/passwd" in p.stderr and "no ELF" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-b", tmp_path / "nothing", "-r", traced[1], status=1)
    assert "No such file" in p.stderr
    os.mkfifo(tmp_path / "fifo")
    run("pprof", CPU, "-c", "prog", "-b", tmp_path / "fifo", "-r", traced[1], status=1)


def test_a_module_that_is_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    rec = Batch().profile(1, [frame("f", str(tmp_path / "fifo"))]).write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")


# ---- where it writes -----------------------------------------------------------------------------------------------


def test_numbered_files(rec, tmp_path):
    out = tmp_path / "a" / "b"
    out.mkdir(parents=True)
    for name in ("pprof-9.pb.gz", "pprof-x.pb.gz", "pprof-11.pb.gz.bak"):
        (out / name).write_text("")
    for n in (10, 11):
        p = run("pprof", CPU, "-c", "prog", "-r", rec, "-d", out)
        assert f"wrote {out}/pprof-{n}.pb.gz" in p.stderr
        assert Raw(out / f"pprof-{n}.pb.gz").samples
    assert len(list(out.iterdir())) == 5
    assert (out / "pprof-10.pb.gz").stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o22) or 0o22)


def test_default_folder(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, env={**os.environ, "HOME": str(tmp_path)})
    assert (tmp_path / "stacks_export_data" / "pprof-1.pb.gz").exists(), p.stderr


def test_standard_output(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", "-", text=False, env={**os.environ, "TMPDIR": str(tmp_path)})
    (tmp_path / "p").write_bytes(p.stdout)
    assert Raw(tmp_path / "p").samples
    assert gzip.decompress(p.stdout)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p", "rec"]
    with open("/dev/full", "w") as full:
        p = subprocess.run([EXPORT, "pprof", CPU, "-c", "prog", "-r", rec, "--output", "-"], stdout=full, stderr=subprocess.PIPE, text=True, cwd="/")
    assert p.returncode == 1 and "No space left" in p.stderr


def test_a_pipe_is_written_to(rec, tmp_path):
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", "/dev/null")
    assert pathlib.Path("/dev/null").is_char_device()


def test_an_existing_file_is_replaced_only_when_all_went_well(rec, tmp_path):
    out = tmp_path / "p"
    out.write_text("old")
    out.chmod(0o640)
    run("pprof", CPU, "-c", "nobody", "-r", rec, "--output", out, status=1)
    assert out.read_text() == "old"
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", out)
    assert Raw(out).samples and out.stat().st_mode & 0o777 == 0o640
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p", "rec"]


def test_a_folder_that_cannot_be_written(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "-d", "/proc/nothing", status=1)
    assert "/proc/nothing" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path, status=1)
    assert "directory" in p.stderr


def test_opens_pprof_for_a_person(rec, tmp_path):
    fake = tmp_path / "bin" / "pprof"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    fake.chmod(0o755)
    env = {**os.environ, "PATH": f"{fake.parent}:/usr/bin:/bin"}
    args = [EXPORT, "pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p"]
    run(*args[1:], env=env)
    assert not (tmp_path / "called").exists(), "nobody is there"

    def on_terminal(*more):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([*args, *more], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd="/")
        assert p.wait(timeout=60) == 0
        os.close(theirs)
        os.close(ours)

    on_terminal("-n")
    assert not (tmp_path / "called").exists()
    on_terminal()
    assert (tmp_path / "called").read_text() == f"-http=:0 {tmp_path}/p\n"


# ---- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["x' OR 1=1 --", "';DROP VIEW x--", "?command", "'", "%", "$command", "\\", 'a"b', "é"])
def test_a_parameter_is_never_sql(tmp_path, command):
    b = Batch().profile(1, names("mine"), command=command).profile(2, names("other"), command="other")
    rec = b.write(tmp_path / "r")
    run("pprof", CPU, "-c", command, "-r", rec, "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("mine",): (1, PERIOD)}


def test_injection_finds_nothing(rec):
    p = run("pprof", CPU, "-c", "x' OR 1=1", "-r", rec, status=1)
    assert "empty" in p.stderr


@pytest.mark.parametrize(
    "where",
    ["command = ?command", "command = '?command'", "command LIKE '%?command%'", "command || 'x' = '?commandx'",
     "command = '?command' -- it's ?buildid", "command = '?command' /* ?buildid ' */", "command = E'?command'",
     "command = $$?command$$", "'it''s ' || command = 'it''s ?command'"],
)
def test_where_parameters_may_stand(rec, where):
    p = run("query", f"SELECT count(*) AS n FROM events WHERE {where}", "-c", "other", "-r", rec, "--format", "csv")
    assert p.stdout == "n\n1\n"


def test_build_id_parameter(rec, compile_c):
    prog = compile_c(SOURCE)
    p = run("query", "SELECT '?buildid' AS id, decode('?buildid', 'hex') = unhex(?buildid) AS same, octet_length(decode('?buildid', 'hex')) AS n", "-b", prog, "-r", rec, "--format", "csv")
    assert p.stdout == f"id,same,n\n{build_id(prog)},true,20\n"


def test_parameters_that_are_missing(rec):
    p = run("pprof", CPU, "-r", rec, status=2)
    assert "?command" in p.stderr and "-c" in p.stderr
    p = run("pprof", "sql/pprof/cpu_ustacks_for_buildid.sql", "-r", rec, status=2)
    assert "?buildid" in p.stderr and "-b" in p.stderr
    p = run("pprof", "sql/pprof/cpu_stacks.sql", "-c", "prog", "-r", rec, "--output", "/dev/null")
    assert "-c changes nothing" in p.stderr


def test_a_long_command_is_cut_as_the_kernel_cuts_it(tmp_path):
    rec = Batch().profile(1, names("f"), command="a-very-long-com").write(tmp_path / "r")
    p = run("pprof", CPU, "-c", "a-very-long-command-name", "-r", rec, "--output", tmp_path / "p")
    assert "15 bytes" in p.stderr and Raw(tmp_path / "p").samples


# ---- the predecessor's queries -------------------------------------------------------------------------------------


def test_predecessors_cpu_query(rec, tmp_path, compile_c):
    prog = compile_c(SOURCE)
    b = Batch().profile(1, names("f", "f", "g"), count=2, buildid=bytes.fromhex(build_id(prog))).profile(5, names("other"))
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, """select
    ustack,
    count(*) as count,
    sum(duration) as sampled_duration
from
    stacks
where
    kind='profile' and buildid = decode('?buildid', 'hex')
group by ustack
""", "-b", prog)
    assert raw.samples == {("f", "f", "g"): (2, 2 * PERIOD)}
    assert raw.types == ["count/count", "sampled_duration/nanoseconds[dflt]"]


PREDECESSORS_OFFCPU = """
with waits as (
    select ustack, kstack,
        (LEAD(timestamp - duration) OVER (PARTITION BY pid ORDER BY timestamp - duration)) - (timestamp) as offcpu
    from stacks
    where kind = 'switch' and command = '?command' and (not empty(ustack) or not empty(kstack))
)
select array_union(kstack, ustack) as stack, count(*), sum(offcpu) as offcpu_time
from waits
where (not empty(ustack) or not empty(kstack))
group by stack
"""


def test_predecessors_offcpu_query(tmp_path):
    b = Batch()
    wait, other = names("wait", "rec", "rec", "main"), names("other", "main")
    b.slice(0, 10, "sleeping", wait, kernel("schedule", "futex"))
    b.slice(110, 120, "sleeping", other)
    b.slice(150, 160, "sleeping", wait, kernel("schedule", "futex"))
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, PREDECESSORS_OFFCPU, "-c", "prog")
    assert raw.samples == {("schedule", "futex", "wait", "rec", "rec", "main"): (2, 100), ("other", "main"): (1, 30)}
    assert raw.types[0] == "count(*)/count"


def test_predecessors_growth_query(tmp_path):
    b = Batch()
    for at, amount in ((1, 100), (2, 350), (3, 200), (4, 250)):
        b.add("rss", at, names("malloc", "main"), amount=amount)
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, """
with rss_growth as (
    select ustack, CAST(amount as BIGINT) - LAG(CAST(amount as BIGINT)) OVER (PARTITION BY tgid ORDER BY timestamp) as rss
    from stacks where kind = 'rss' and command = '?command' and not empty(ustack)
)
select ustack, count(*) as cnt, sum(rss) as total_growth from rss_growth where rss > 0 group by ustack order by total_growth desc
""", "-c", "prog")
    assert raw.samples == {("malloc", "main"): (2, 300)}
    assert raw.types[1] == "total_growth/bytes[dflt]"


def test_integers_divide_as_integers_in_pprof_only(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT ustack, 7 / 2 AS n, sum(duration) / 1000 AS v FROM stacks WHERE ustack[1].name = 'hash' GROUP BY ustack")
    assert list(raw.samples.values()) == [(3, 3 * PERIOD // 1000)]
    assert run("query", "SELECT 7 / 2 AS n", "-r", rec, "--format", "csv").stdout == "n\n3.5\n"


# ---- recordings ----------------------------------------------------------------------------------------------------

COUNT = "SELECT count(*) AS n FROM events"


def count(*args, **kw):
    return int(run("query", COUNT, "--format", "csv", *args, **kw).stdout.split()[1])


def test_what_r_takes(tmp_path):
    for number, rows in ((2, 1), (9, 2), (10, 4)):
        Batch().profile(1, names("f"), count=rows).write(tmp_path / str(number))
    Batch().profile(9, names("f", "g"), count=8).write(tmp_path / "10", 2)
    (tmp_path / "notes").mkdir()
    assert count("-r", tmp_path / "9") == 2
    assert count("-r", f"{tmp_path}/9/") == 2
    assert count("-r", tmp_path) == 12
    assert count(env={**os.environ, "STACKS_DIR": str(tmp_path)}) == 12
    assert count("-r", tmp_path / "10" / "events-000001.parquet") == 4
    assert count("-r", tmp_path / "10" / "stacktraces-000002.parquet") == 8
    assert count("-r", tmp_path / "10" / "events-*2.parquet") == 8
    assert count("-r", tmp_path / "10" / "*") == 12
    assert count("-r", tmp_path / "[29]") == 3
    assert count("-r", tmp_path / "*") == 15


def test_several_recordings_add_up(tmp_path):
    for number in (1, 2):
        b = Batch().profile(PERIOD, names("f")).profile(number * SECOND + PERIOD, names("f"))
        b.write(tmp_path / str(number))
    run("pprof", CPU, "-c", "prog", "-r", tmp_path / "*", "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert raw.samples == {("f",): (4, 4 * PERIOD)}, "a stack that is in both is one"
    # 1 s + 2 s and, per recording, what the first sample stands for
    assert "Duration: 3.02s" in pprof(tmp_path / "p", "-top")


def test_odd_names(tmp_path):
    rec = Batch().profile(1, names("f")).write(tmp_path / "it's [o]dd *é")
    assert count("-r", rec) == 1
    assert count("-r", rec / "events-000001.parquet") == 1


def test_a_stack_in_many_batches_is_one(tmp_path):
    for number in range(1, 5):
        Batch().profile(number, names("f", "g")).write(tmp_path / "r", number)
    assert count("-r", tmp_path / "r") == 4
    p = run("query", "SELECT count(*) AS n, count(DISTINCT ustack) AS d FROM stacks", "-r", tmp_path / "r", "--format", "csv")
    assert p.stdout == "n,d\n4,1\n"
    assert run("query", "SELECT count(*) AS n FROM stacktraces", "-r", tmp_path / "r", "--format", "csv").stdout == "n\n1\n"


# ---- errors --------------------------------------------------------------------------------------------------------


def refused(rec, tmp_path, *parts, args=("query", COUNT, "--output", "out")):
    """It says all parts, prints nothing and leaves nothing."""
    before = sorted(tmp_path.rglob("*"))
    p = run(*args, *(("-r", rec) if rec else ()), status=1, cwd=tmp_path)
    assert p.stdout == ""
    for part in parts:
        assert str(part) in p.stderr, p.stderr
    assert sorted(tmp_path.rglob("*")) == before
    return p


def test_no_recording(tmp_path):
    p = run("top", status=1, env={**os.environ, "STACKS_DIR": str(tmp_path)})
    assert str(tmp_path) in p.stderr and "sudo collector" in p.stderr
    p = run("top", status=1, env={**os.environ, "STACKS_DIR": str(tmp_path / "none")})
    assert "none" in p.stderr and "sudo collector" in p.stderr
    refused(tmp_path, tmp_path, "no recording", tmp_path)
    refused(tmp_path / "nothing", tmp_path, "no recording", "nothing")
    refused(f"{tmp_path}/*.parquet", tmp_path, "no recording", "*.parquet")
    (tmp_path / "3").mkdir()
    refused(tmp_path, tmp_path, tmp_path / "3", "no finished batch")


def test_a_file_that_is_none_of_ours(tmp_path):
    (tmp_path / "x.parquet").write_text("x")
    refused(tmp_path / "x.parquet", tmp_path, "x.parquet", "events-N.parquet")


def test_the_other_file_is_missing(rec, tmp_path):
    (rec / "stacktraces-000001.parquet").unlink()
    refused(rec, tmp_path, "stacktraces-000001.parquet is missing", "events-000001.parquet")
    refused(rec / "events-000001.parquet", tmp_path, "stacktraces-000001.parquet is missing")


@pytest.mark.parametrize("name", ["events", "stacktraces"])
def test_damaged_files(rec, tmp_path, name):
    path = rec / f"{name}-000001.parquet"
    whole = path.read_bytes()
    for content, word in ((whole[: len(whole) // 2], "cut short"), (whole[:-1], "cut short"), (b"", "empty"),
                          (b"no parquet at all, but text", "no Parquet"), (b"PAR1" * 3, "damaged")):
        path.write_bytes(content)
        refused(rec, tmp_path, path, word)
    path.write_bytes(b"PAR1" + b"\0" * (len(whole) - 12) + whole[-8:])
    refused(rec, tmp_path, rec)


def test_damage_inside(rec, tmp_path):
    path = rec / "events-000001.parquet"
    whole = bytearray(path.read_bytes())
    whole[4 : len(whole) // 3] = b"\xff" * (len(whole) // 3 - 4)
    path.write_bytes(whole)
    refused(rec, tmp_path, rec, args=("query", "FROM events", "--output", "out"))
    refused(rec, tmp_path, rec, args=("top",))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be somebody else")
def test_somebody_elses_folder(rec, tmp_path):
    for f in (tmp_path, *tmp_path.parents):
        if f != pathlib.Path("/") and not f.stat().st_mode & 0o001:
            f.chmod(f.stat().st_mode | 0o011)
    rec.chmod(0o700)
    p = run("query", COUNT, "-r", rec, status=1, user=65534, group=65534, extra_groups=[])
    assert str(rec) in p.stderr and "Permission denied" in p.stderr and "root" in p.stderr
    rec.chmod(0o755)
    (rec / "events-000001.parquet").chmod(0o600)
    p = run("query", COUNT, "-r", rec, status=1, user=65534, group=65534, extra_groups=[])
    assert "events-000001.parquet" in p.stderr and "Permission denied" in p.stderr


def test_an_unknown_command(rec, tmp_path):
    p = refused(rec, tmp_path, "empty", "prog, other", args=("pprof", CPU, "-c", "porg", "-d", "out"))
    assert str(rec) in p.stderr
    refused(rec, tmp_path, "prog, other", args=("top", "-c", "porg"))
    refused(rec, tmp_path, "empty", args=("query", "FROM events WHERE false", "--format", "csv", "--output", "out"))
    assert run("query", "FROM events WHERE false", "--format", "json", "-r", rec, status=1).stdout == ""


@pytest.mark.parametrize(
    "sql, parts",
    [
        ("SELECT 1", ["number of columns", "three columns"]),
        ("SELECT ustack, 1 AS n, 2 AS v, 3 AS w FROM stacks", ["number of columns"]),
        ("SELECT command, 1 AS n, 2 AS v FROM stacks", ["no list of frames", "command"]),
        ("SELECT [1], 1 AS n, 2 AS v", ["no list of frames"]),
        ("SELECT [{'name': 1, 'address': 1, 'offset': 1}] AS s, 1 AS n, 2 AS v", ["no list of frames: s"]),
        ("SELECT ustack, 1.5::DOUBLE AS n, 2 AS v FROM stacks", ["no integer", "n"]),
        ("SELECT ustack, 1 AS n, avg(duration) AS mean FROM stacks GROUP BY 1", ["no integer", "mean"]),
        ("SELEC 1", ["syntax error", "SELEC"]),
        ("SELECT x FROM stacks", ["x"]),
        ("SELECT 'abc", ["does not end"]),
        (" -- nothing", ["no query"]),
        ("SELECT ustack, ?, 1 FROM stacks", ["q.sql"]),
    ],
)
def test_queries_that_do_not_fit(rec, tmp_path, sql, parts):
    p = query_profile(rec, tmp_path, sql, status=1)
    assert not (tmp_path / "q.pb.gz").exists()
    for part in parts if "?" not in sql else []:
        assert part in p.stderr, p.stderr


def test_query_files(rec, tmp_path):
    p = run("pprof", "sql/pprof/nothing.sql", "-r", rec, status=1)
    assert "nothing.sql" in p.stderr and "sql/pprof/cpu_stacks.sql" in p.stderr
    p = run("pprof", "/", "-r", rec, status=1)
    assert "directory" in p.stderr
    (tmp_path / "zero.sql").write_bytes(b"SELECT\0")
    assert "no text" in run("pprof", tmp_path / "zero.sql", "-r", rec, status=1).stderr
    here = tmp_path / CPU
    here.parent.mkdir(parents=True)
    here.write_text("SELECT ustack, 1 AS mine, 2 AS v FROM stacks LIMIT 1 -- ?command")
    run("pprof", CPU, "-r", rec, "--output", "p", cwd=tmp_path)
    assert Raw(tmp_path / "p").types[0] == "mine/count"


@pytest.mark.parametrize(
    "args, parts",
    [
        ([], ["pprof, query or top"]),
        (["profile"], ["profile"]),
        (["pprof"], ["query"]),
        (["pprof", "a.sql", "b.sql"], ["b.sql"]),
        (["top", "x"], ["x"]),
        (["query"], ["-f"]),
        (["query", "SELECT 1", "-f", "x"], ["-f"]),
        (["query", "SELECT 1", "--format", "xml"], ["xml", "parquet"]),
        (["query", "SELECT 1", "-i"], ["inlined"]),
        (["top", "-N", "0"], ["'0'"]),
        (["top", "-N", "many"], ["many"]),
        (["top", "--nonsense"], ["nonsense"]),
        (["pprof", CPU, "-d", "a", "--output", "b"], ["--directory"]),
        (["pprof", CPU, "-c"], ["c"]),
    ],
)
def test_wrong_calls(args, parts):
    p = run(*args, status=2)
    assert p.stdout == ""
    for part in parts:
        assert part in p.stderr, p.stderr


def test_help_and_version():
    for args in (["--help"], ["-h"], ["pprof", "--help"], ["--help", "top"], ["query", "-h"]):
        p = run(*args)
        assert p.stderr == "" and "stacksexport" in p.stdout and "Examples:" in p.stdout
    assert "--no-open" in run("pprof", "--help").stdout and "--no-open" not in run("top", "--help").stdout
    for flag in ("--version", "-v", "-V"):
        assert re.fullmatch(r"stacksexport \d+\.\d+\.\d+\n", run(flag).stdout)


# ---- query ---------------------------------------------------------------------------------------------------------


def test_formats(rec, tmp_path):
    sql = "SELECT command, kind, count(*) AS n, any_value(buildid) AS id FROM stacks WHERE kind != 'lost' GROUP BY ALL ORDER BY n DESC"
    expected = [("prog", "profile", 6, BUILD_ID.hex()), ("other", "profile", 1, "99" * 20)]
    table = run("query", sql, "-r", rec).stdout.splitlines()
    assert [l.split() for l in table] == [["command", "kind", "n", "id"]] + [[str(c) for c in r] for r in expected]
    assert len({len(l) for l in table}) <= 2
    rows = list(csv.reader(io.StringIO(run("query", sql, "-r", rec, "--format", "csv").stdout)))
    assert rows == [["command", "kind", "n", "id"]] + [[str(c) for c in r] for r in expected]
    rows = json.loads(run("query", sql, "-r", rec, "--format=json").stdout)
    assert [tuple(r.values()) for r in rows] == expected
    run("query", sql, "-r", rec, "--format", "parquet", "--output", tmp_path / "o.parquet")
    rows = duckdb.connect().execute(f"FROM '{tmp_path}/o.parquet'").fetchall()
    assert [(a, b, c, d.hex()) for a, b, c, d in rows] == expected
    p = run("query", sql, "-r", rec, "--format", "parquet", text=False)
    assert p.stdout[:4] == p.stdout[-4:] == b"PAR1"


def test_stacks_in_each_format(rec):
    sql = "SELECT ustack, kstack FROM stacks WHERE kstack_id IS NOT NULL"
    assert "read < main < _start" in run("query", sql, "-r", rec).stdout
    (row,) = json.loads(run("query", sql, "-r", rec, "--format", "json").stdout)
    assert [f["name"] for f in row["ustack"]] == ["read", "main", "_start"]
    assert [f["module"] for f in row["kstack"]] == ["[kernel]"] * 2


def test_strings_that_need_quoting(tmp_path):
    odd = 'a,"b\n\u00e9\\'
    rec = Batch().profile(1, names("f"), command=odd).write(tmp_path / "r")
    sql = "SELECT command, NULL AS nothing FROM events"
    assert list(csv.reader(io.StringIO(run("query", sql, "-r", rec, "--format", "csv").stdout)))[1] == [odd, ""]
    assert json.loads(run("query", sql, "-r", rec, "--format", "json").stdout) == [{"command": odd, "nothing": None}]


@pytest.mark.parametrize("sql", ["DESCRIBE stacks", "FROM events LIMIT 1", "WITH a AS (SELECT 1) FROM a", "SUMMARIZE events", "SHOW TABLES",
                                 "SELECT 1 AS a, 2 AS a", 'SELECT 1 AS "a""b"', "SELECT 1; SELECT 2 -- ;", "VALUES (1)",
                                 "SELECT INTERVAL 1 DAY, DATE '2024-01-01', 1.5::DECIMAL(5,2), [1], MAP {'a': 1}, uuid(), true"])
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_queries_of_all_sorts(rec, sql, form):
    assert run("query", sql, "-r", rec, "--format", form).stdout


def test_statements_before_the_last(rec):
    p = run("query", "CREATE TEMP TABLE t AS SELECT '?command' AS c; SET VARIABLE n = 3; SELECT c, getvariable('n') AS n FROM t", "-c", "it's", "-r", rec, "--format", "csv")
    assert p.stdout == "c,n\nit's,3\n"
    p = run("query", "SET VARIABLE n = 3", "-r", rec, status=1)
    assert "no rows" in p.stderr


def test_query_from_a_file(rec, tmp_path):
    (tmp_path / "q.sql").write_text("SELECT count(*) AS n FROM events WHERE command = '?command'")
    assert run("query", "-f", tmp_path / "q.sql", "-c", "other", "-r", rec, "--format", "csv").stdout == "n\n1\n"
    assert "cpu_time" in run("query", "-f", CPU, "-c", "other", "-r", rec).stdout


def test_a_table_in_a_file(rec, tmp_path):
    run("query", "SELECT 1 AS n", "-r", rec, "--output", tmp_path / "t")
    assert (tmp_path / "t").read_text() == "n\n1\n"


def test_nothing_is_fetched_from_the_network(rec):
    p = run("query", "SELECT value FROM duckdb_settings() WHERE name IN ('autoload_known_extensions', 'autoinstall_known_extensions')", "-r", rec, "--format", "csv")
    assert p.stdout == "value\nfalse\nfalse\n"


# ---- top -----------------------------------------------------------------------------------------------------------


def sections(text):
    """{title: [rows]}, the head under ''."""
    out, title = {"": []}, ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z -]+( \(.*\))?", line) and line.strip():
            title = line
            out[title] = []
        elif line:
            out[title].append(line)
    return out


@pytest.fixture
def busy(tmp_path):
    b = Batch()
    b.profile(0, names("hot", "main"), count=6)
    b.profile(10, names("rec", "rec", "main"), count=2)
    b.profile(20, names("read", "main"), kernel("copy", "entry"), unwind="truncated")
    b.profile(30, names("poll"), command="other", pid=200)
    b.slice(0, SECOND, "sleeping", names("wait", "main"), kernel("schedule"), pid=1)
    b.slice(3 * SECOND, 4 * SECOND, "preempted", names("hot", "main"), pid=1, runnable=SECOND // 2)
    b.slice(5 * SECOND, 6 * SECOND, "dead", pid=1, runnable=SECOND)
    b.slice(0, 0, "disk_sleep", None, kernel("io_schedule"), pid=2, command="kworker")
    b.slice(6 * SECOND, 6 * SECOND, "waiting", pid=2, command="kworker")
    b.add("lost", 6 * SECOND, duration=SECOND, amount=12, lost_kind="switch", reason="ring_full", tgid=0, pid=0, command="")
    return b.write(tmp_path / "busy")


def test_top(busy):
    out = sections(run("top", "-r", busy).stdout)
    head = "\n".join(out[""])
    assert "6.0 s from" in head and "15 events" in head
    assert "User stacks: 12, 91.6 % reach the root; the others: truncated 1" in head, head
    assert "Lost events: 12 (switch ring_full 12): times are too small" in head
    rows = [r.split() for r in out["TIME BY COMMAND"]]
    ms = PERIOD / 1e9
    assert rows[1] == [f"{9 * ms:.3f}", "90.0", "1.500", "1.500", "prog"]
    assert rows[2] == [f"{ms:.3f}", "10.0", "0.000", "0.000", "other"]
    assert rows[3] == ["0.000", "0.0", "6.000", "0.000", "kworker"]
    assert rows[4] == [f"{10 * ms:.3f}", "100.0", "7.500", "1.500", "(all)"]
    cpu = {tuple(r.split()[4:]): r.split()[:4] for r in out["CPU TIME BY FUNCTION"][1:-1]}
    assert cpu[("prog", "prog", "hot")] == [f"{6 * ms:.3f}", "60.0", f"{6 * ms:.3f}", "60.0"]
    assert cpu[("prog", "prog", "rec")] == [f"{2 * ms:.3f}", "20.0", f"{2 * ms:.3f}", "20.0"], "a recursion counts once"
    assert cpu[("prog", "prog", "main")] == ["0.000", "0.0", f"{9 * ms:.3f}", "90.0"]
    assert cpu[("prog", "[kernel]", "copy")] == [f"{ms:.3f}", "10.0", f"{ms:.3f}", "10.0"]
    assert cpu[("prog", "[kernel]", "entry")][:2] == ["0.000", "0.0"]
    assert cpu[("prog", "prog", "read")][:3] == ["0.000", "0.0", f"{ms:.3f}"]
    off = {tuple(r.split()[5:]): r.split()[:5] for r in out["OFF-CPU TIME BY FUNCTION"][1:-1]}
    assert off[("prog", "prog", "wait")] == ["1.500", "0.500", "22.2", "2.000", "22.2"]
    assert off[("prog", "prog", "hot")] == ["0.000", "1.000", "11.1", "1.000", "11.1"]
    assert off[("kworker", "[kernel]", "io_schedule")] == ["6.000", "0.000", "66.7", "6.000", "66.7"]
    states = {r.split()[-1]: r.split()[:3] for k, v in out.items() if "BY STATE" in k for r in v[1:]}
    assert states == {"disk_sleep": ["6.000", "0.000", "1"], "sleeping": ["1.500", "0.500", "1"],
                      "preempted": ["0.000", "1.000", "1"], "(all)": ["7.500", "1.500", "3"]}


def test_top_selects(busy):
    out = sections(run("top", "-r", busy, "-c", "other").stdout)
    assert [r.split()[-1] for r in out["TIME BY COMMAND"][1:]] == ["other", "(all)"]
    assert "No off-CPU time" in "\n".join(sum(out.values(), []))
    out = sections(run("top", "-r", busy, "-N", 1).stdout)
    rows = out["CPU TIME BY FUNCTION"]
    assert len(rows) == 4 and rows[2].endswith("(6 more)") and rows[3].endswith("(all)")
    assert float(rows[1].split()[0]) + float(rows[2].split()[0]) == pytest.approx(float(rows[3].split()[0]), abs=0.002)


def test_top_selects_by_build_id(busy, compile_c, tmp_path):
    prog = compile_c(SOURCE)
    p = run("top", "-r", busy, "-b", prog, status=1)
    assert "empty" in p.stderr
    Batch().profile(1, names("f"), buildid=bytes.fromhex(build_id(prog))).profile(2, names("g")).write(tmp_path / "r")
    out = run("top", "-r", tmp_path / "r", "-b", prog).stdout
    assert " f\n" in out and " g\n" not in out


def test_top_without_a_loss_or_a_stack(tmp_path):
    out = run("top", "-r", Batch().profile(1, None, None).write(tmp_path / "r")).stdout
    assert "Lost events: 0\n" in out and "[no stack]" in out and "User stacks" not in out


def test_top_fits_the_terminal(tmp_path):
    rec = Batch().profile(1, names("a" * 300, "b" * 200), command="c" * 15).write(tmp_path / "r")
    ours, theirs = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    p = subprocess.Popen([EXPORT, "top", "-r", rec], stdout=theirs, stderr=subprocess.PIPE, cwd="/")
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass
    assert p.wait(timeout=60) == 0
    table = text.decode().split("TIME BY COMMAND")[1]
    assert "…" in table and max(map(len, table.splitlines())) <= 80


# ---- size ----------------------------------------------------------------------------------------------------------


def test_a_million_events(tmp_path):
    """Nothing here is quadratic: a million rows, five thousand stacks, in one go."""
    rec = tmp_path / "big"
    rec.mkdir()
    db = duckdb.connect()
    db.execute(f"""COPY (SELECT i::UBIGINT AS stack_id, [{{'name': 'f' || (i * 7 + d) % 3000, 'address': (4096 + (i * 7 + d) % 3000 * 64)::UBIGINT,
        'offset': (d % 60)::UBIGINT, 'module': '/bin/p', 'build_id': 'ab', 'file_offset': (4096 + (i * 7 + d) % 3000 * 64 + d % 60)::UBIGINT}} for d in range(20)] AS frames
        FROM range(5000) t(i)) TO '{rec}/stacktraces-000001.parquet'""")
    fields = {**event("profile"), "duration": PERIOD}
    def literal(name, v):
        special = {"timestamp": f"{START} + i * 10000", "ustack_id": "hash(i) % 5000", "command": "CASE i % 3 WHEN 0 THEN 'a' ELSE 'b' END"}
        return special.get(name) or ("NULL" if v is None else f"unhex('{v.hex()}')" if isinstance(v, bytes) else repr(v))
    columns = ", ".join(f"{literal(n, v)} AS {n}" for n, v in fields.items())
    db.execute(f"COPY (SELECT {columns} FROM range(1000000) t(i)) TO '{rec}/events-000001.parquet'")
    run("pprof", CPU, "-c", "a", "-r", rec, "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert sum(c for c, _ in raw.samples.values()) == 333334
    assert "(all)" in run("top", "-r", rec).stdout


# ---- installed -----------------------------------------------------------------------------------------------------


def test_installed_it_finds_its_sql(rec, tmp_path):
    for d in ("bin", "lib/stacks", "share/stacks"):
        (tmp_path / d).mkdir(parents=True)
    shutil.copy(EXPORT, tmp_path / "bin" / "stacksexport")
    (tmp_path / "lib/stacks/libduckdb.so").symlink_to(ROOT / ".deps/duckdb/lib/libduckdb.so")
    shutil.copytree(ROOT / "sql", tmp_path / "share/stacks/sql")
    p = subprocess.run([tmp_path / "bin/stacksexport", "pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p"], capture_output=True, text=True, cwd="/")
    assert p.returncode == 0, p.stderr
    shutil.rmtree(tmp_path / "share")
    p = subprocess.run([tmp_path / "bin/stacksexport", "top", "-r", rec], capture_output=True, text=True, cwd="/")
    assert p.returncode == 1 and "share/stacks/sql/stacks.sql" in p.stderr
