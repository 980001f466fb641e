# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof: the content of a profile."""
import duckdb
import pytest

from exporter import CPU, Raw, pprof, query_profile, run
from recordings import NULLABLE, PERIOD, START, Batch, event, frame, kernel, names


def test_sources_that_were_not_recorded_are_named(tmp_path):
    """A column of zeros may mean that the recording lacks its source."""
    b = Batch()
    b.slice(0, PERIOD, "sleeping", names("wait", "main"), pid=1)
    b.slice(3 * PERIOD, 4 * PERIOD, "dead", pid=1)
    for kind, said in ("rss", True), ("wake", False):
        rec = b.write(tmp_path / kind)
        p = run("pprof", "sql/pprof/why_off_cpu.sql", "-c", "prog", "-r", rec, "--output", tmp_path / "out")
        assert (f"warning: {rec} lacks some of what the query reads: wake (collector -p wake)" in p.stderr) == said
        p = run("query", "-f", "sql/tables/why_off_cpu.sql", "-r", rec)
        assert ("wake (collector -p wake)" in p.stderr) == said
        b.add("wake", 0, target=1)


def test_profile_has_the_rows_of_the_command(rec, tmp_path):
    out = tmp_path / "out.pb.gz"
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", out)
    assert p.stdout == ""
    assert f"wrote {out}" in p.stderr and f"pprof -http=: {out}" in p.stderr and "lost" not in p.stderr
    assert "/.deps/bin/pprof -http=:" in run("pprof", CPU, "-c", "prog", "-r", rec, "--output", out, env={"PATH": "/nowhere"}).stderr
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
    b = Batch().profile(1, [frame("a", "/lib/libc.so.6"), frame("b", "/usr/bin/prog"), frame("c", "/opt/x.solid"), frame("d", "/lib/libc.so.6")], kernel("k"))
    run("pprof", "sql/pprof/cpu_stacks.sql", "-r", b.write(tmp_path / "r"), "--output", tmp_path / "p")
    assert "File: x.solid" in pprof(tmp_path / "p", "-top")
    assert Raw(tmp_path / "p").samples == {("k", "a", "b", "c", "d"): (1, PERIOD)}


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


def test_without_stacks_says_how_to_record_them(tmp_path):
    b = Batch().add("vfs_read", 1, amount=5).add("fork", 2)
    args = ["-c", "prog", "-r", b.write(tmp_path / "r"), "--output", tmp_path / "p"]
    said = run("pprof", "vfs_read_amount.sql", *args).stderr
    assert "there are no stacks" in said and "vfs_read (collector -p vfs:u)\n" in said
    assert "there are no stacks" in run("pprof", "fork_ustacks.sql", *args).stderr
    b.add("vfs_read", 3, names("f"), amount=5).write(tmp_path / "r")
    assert "no stacks" not in run("pprof", "vfs_read_amount.sql", *args).stderr


def test_offsets_are_appended_to_names(rec, tmp_path):
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


INTEGERS = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT".split()


@pytest.mark.parametrize("integer", INTEGERS)
def test_every_integer_type_is_a_value(rec, tmp_path, integer):
    raw = query_profile(rec, tmp_path, f"SELECT ustack, count(*)::{integer} AS n, 100::{integer} AS v FROM stacks WHERE ustack[1].name = 'hash' GROUP BY ustack")
    assert raw.samples == {("hash", "lookup", "main", "_start"): (3, 100)}


@pytest.mark.parametrize(
    "value, seen",
    [("-5", -5), ("NULL::BIGINT", 0), ("(-128)::TINYINT", -128), ("18446744073709551615::UBIGINT", 2**63 - 1),
     ("(-170141183460469231731687303715884105727)::HUGEINT", -(2**63)), ("-3::HUGEINT", -3), ("9223372036854775808::UHUGEINT", 2**63 - 1)],
)
def test_values_are_capped_to_the_range(rec, tmp_path, value, seen):
    raw = query_profile(rec, tmp_path, f"SELECT ustack, 1 AS n, {value} AS v FROM stacks WHERE ustack[1].name = 'hash' LIMIT 1")
    assert list(raw.samples.values()) == [(1, seen)]


def test_frames_may_come_from_the_query(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT [{'name': 'a', 'address': 5, 'offset': 1::UTINYINT}, NULL, {'name': NULL, 'address': 1, 'offset': 1}] AS s, 1 AS n, 2 AS v")
    assert raw.samples == {("a", "[unknown]+0x2"): (1, 2)}


def test_columns_have_names_and_units(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT ustack, count(*), sum(timestamp) * 0 + 3 AS rss_growth FROM stacks WHERE kind = 'profile' GROUP BY 1")
    assert raw.types == ["count(*)/count", "rss_growth/bytes[dflt]"]
    assert "PeriodType: \n" in raw.head or "PeriodType:" not in raw.head or "Period: 0" in raw.head


def test_hostile_names_are_harmless(tmp_path):
    b = Batch().profile(1, names("a\x1b[31m", "b\nc", "é€😀", "x" * 5000))
    rec = b.write(tmp_path / "r")
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert "é€😀" in pprof(tmp_path / "p", "-raw")
    assert "\x1b" not in run("query", "FROM stacks", "-r", rec).stdout
    assert "\x1b" not in run("top", "-r", rec).stdout


def test_a_million_events_are_exported_in_time(tmp_path):
    """A million rows and five thousand stacks in one run: nothing is quadratic."""
    rec = tmp_path / "big"
    rec.mkdir()
    db = duckdb.connect()
    db.execute(f"""COPY (SELECT i::UBIGINT AS stack_id, [{{'name': 'f' || (i * 7 + d) % 3000, 'address': (4096 + (i * 7 + d) % 3000 * 64)::UBIGINT,
        'offset': (d % 60)::UBIGINT, 'module': '/bin/p', 'build_id': 'ab', 'file_offset': (4096 + (i * 7 + d) % 3000 * 64 + d % 60)::UBIGINT}} for d in range(20)] AS frames
        FROM range(5000) t(i)) TO '{rec}/stacktraces-000001.parquet'""")
    fields = {**event("profile"), "duration": PERIOD}
    sql_types = {"string": "VARCHAR", "uint64": "UBIGINT", "int64": "BIGINT", "int32": "INTEGER"}
    def literal(name, v):
        special = {"timestamp": f"{START} + i * 10000", "ustack_id": "hash(i) % 5000", "command": "CASE i % 3 WHEN 0 THEN 'a' ELSE 'b' END"}
        return special.get(name) or (f"NULL::{sql_types[str(NULLABLE[name])]}" if v is None else f"unhex('{v.hex()}')" if isinstance(v, bytes) else repr(v))
    columns = ", ".join(f"{literal(n, v)} AS {n}" for n, v in fields.items())
    db.execute(f"COPY (SELECT {columns} FROM range(1000000) t(i)) TO '{rec}/events-000001.parquet'")
    run("pprof", CPU, "-c", "a", "-r", rec, "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert sum(c for c, _ in raw.samples.values()) == 333334
    assert "(all)" in run("top", "-r", rec).stdout


def test_sums_of_more_than_63_bits_are_capped(tmp_path):
    """Rows may claim any value: a sum is capped at the largest number, and the other values stay readable."""
    b = Batch().profile(1, names("small"))
    for i in range(3):
        b.add("profile", 10 + i, names("large"), duration=2**62, weight=2).add("vfs_read", 20 + i, names("large"), amount=2**62, weight=3)
        b.add("lost", 30 + i, amount=2**62, lost_kind="switch", reason="ring_full", command="")
    rec = b.write(tmp_path / "r")
    for query, small in ((CPU, {("small",): (1, PERIOD)}), ("vfs_read_amount.sql", {})):
        run("pprof", query, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
        samples = Raw(tmp_path / "p").samples
        assert samples.pop(("large",))[1] == 2**63 - 1
        assert samples == small
    assert "large" in run("top", "-r", rec).stdout
    assert "large" in run("query", "-f", "time_by_stack.sql", "-r", rec).stdout
