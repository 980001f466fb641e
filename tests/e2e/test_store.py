# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of tests/tools/write_recording.c, read by DuckDB and by pyarrow, value by value."""
import contextlib
import os
import re
import shutil
import stat
import struct
import subprocess

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from conftest import BUILD, EXPORT

WRITER = BUILD / "tests" / "write_recording"
NS = 10**9
U64 = 2**64 - 1
U32 = 2**32 - 1
I64 = 2**63 - 1


def run(path, *args, script="", wrapper=()):
    return subprocess.run([*wrapper, str(WRITER), str(path), *args], input=script, text=True, capture_output=True, timeout=300)


def write(path, *args, script=""):
    done = run(path, *args, script=script)
    assert done.returncode == 0, done.stderr
    return path


def files(path, kind="events"):
    return sorted(path.glob(f"{kind}-*.parquet"))


def hexed(value):
    return (value if isinstance(value, bytes) else value.encode()).hex()


def row(**columns):
    """A line of the writer's script."""
    return "row " + " ".join(f"{k}={hexed(v) if isinstance(v, (str, bytes)) else v}" for k, v in columns.items()) + "\n"


REQUIRED = dict(timestamp=0, duration=0, kind="", cpu=0, tgid=0, pid=0, span_id=0, parent_id=0, id=0, amount=0, command="",
                trace_name="", buildid=b"")
NULLABLE = ("thread ustack_id kstack_id unwind state runnable gaps target device file fs local peer address cgroup host weight "
            "lost_kind reason path probe args").split()


def full(**columns):
    """The row that readers must see."""
    return {**REQUIRED, **dict.fromkeys(NULLABLE), **columns}


def read_arrow(path):
    return pq.ParquetFile(path, page_checksum_verification=True).read().to_pylist()


def read_duckdb(path):
    result = duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)])
    names = [d[0] for d in result.description]
    return [dict(zip(names, r)) for r in result.fetchall()]


def assert_reads(path, want):
    for read in (read_arrow, read_duckdb):
        assert read(path) == want, read.__name__


def test_schema_is_the_documented_one(tmp_path):
    rec = write(tmp_path / "rec", script=row(kind="x"))
    types = {"INT64": pa.int64(), "INT32": pa.int32(), "UINT64": pa.uint64(), "string": pa.string(), "binary": pa.binary()}
    contract = """timestamp INT64,duration INT64,kind string,cpu INT32,tgid INT32,pid INT32,span_id UINT64,parent_id UINT64,
        id UINT64,amount INT64,command string,trace_name string,buildid binary,thread string,ustack_id UINT64,kstack_id UINT64,
        unwind string,state string,runnable INT64,gaps INT64,target INT32,device string,file string,fs string,local string,
        peer string,address UINT64,cgroup string,host string,weight INT32,lost_kind string,reason string,path string,probe string,args string"""
    want = [pa.field(name, types[kind], name not in REQUIRED) for name, kind in (c.split() for c in contract.split(","))]
    file = files(rec)[0]
    assert list(pq.read_schema(file)) == want
    duck = {"INT64": "BIGINT", "INT32": "INTEGER", "UINT64": "UBIGINT", "string": "VARCHAR", "binary": "BLOB"}
    described = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
    assert [d[1] for d in described] == [duck[c.split()[1]] for c in contract.split(",")]

    frames = pq.read_schema(files(rec, "stacktraces")[0])
    assert [(f.name, f.type) for f in frames.field("frames").type.value_type] == [
        ("name", pa.string()), ("address", pa.uint64()), ("offset", pa.uint64()), ("module", pa.string()),
        ("build_id", pa.string()), ("file_offset", pa.uint64()), ("mark", pa.string()), ("line", pa.int32()), ("file", pa.string())]
    meta = pq.read_metadata(file)
    assert re.fullmatch(r"stacks version \S+ \(build \S+\)", meta.created_by)
    assert meta.metadata[b"stacks.schema_version"] == b"1" and meta.metadata[b"stacks.version"] and b"stacks.sources" in meta.metadata


EDGES = [
    dict(timestamp=-I64 - 1, duration=-I64 - 1, amount=-I64 - 1, cpu=-2**31, runnable=-I64 - 1, target=-2**31),
    dict(timestamp=-1, duration=I64, amount=I64, cpu=2**31 - 1, runnable=I64, target=2**31 - 1, gaps=0),
    dict(timestamp=0, span_id=U64, parent_id=2**63, id=2**63 - 1, ustack_id=U64, kstack_id=0, address=2**63),
    dict(timestamp=1, span_id=1, ustack_id=0, kstack_id=2**63, address=0, runnable=0),
    dict(timestamp=2, kind="switch", command="a b", trace_name="\u00df\u20ac\U0001f525", thread="\0", buildid=bytes(range(20))),
    dict(timestamp=3, buildid=b"\xff\x00\xfe", unwind="root", state="sleeping", device="sda", file="f", fs="ext4",
         local="1.2.3.4:80", peer="[::1]:80", cgroup="/", host="h", weight=29, lost_kind="net", reason="ring_full", path="/d/f"),
    dict(timestamp=I64),
]


@pytest.mark.parametrize("compression", ["zstd(1)", "zstd(22)", "none"])
def test_every_type_and_edge_is_read_back(tmp_path, compression):
    rec = write(tmp_path / "rec", f"compression={compression}", script="".join(row(**r) for r in reversed(EDGES)))
    assert_reads(files(rec)[0], [full(**r) for r in EDGES])


def test_one_row_is_read_back(tmp_path):
    rec = write(tmp_path / "rec", script=row(timestamp=5))
    assert_reads(files(rec)[0], [full(timestamp=5)])
    # both files exist, even without stacks
    assert_reads(files(rec, "stacktraces")[0], [])


def test_an_empty_recording_is_readable(tmp_path):
    rec = write(tmp_path / "rec", script="stack 1 -:-:-:0:0:-\ntick 1\ntick 99999999999999\n")
    assert list(rec.iterdir()) == []


@pytest.mark.parametrize("text", [b"\xff", b"ok \xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80x", b"\xf0\x9f\x94", b"a\x80\x80b", b"\xf4\x90\x80\x80",
                                  b"\xe2\x82\xac" * 30000, b"x\xff" * 40000])
def test_invalid_text_is_replaced(tmp_path, text):
    rec = write(tmp_path / "rec", script=row(command=text, buildid=text[:200]))
    want = text[:65535].decode(errors="replace").encode()[:65535].decode(errors="ignore")
    assert_reads(files(rec)[0], [full(command=want, buildid=text[:200])])


STACKS = {
    1: [],
    U64: [("main", "/bin/x", "00ff", 2**63, U64, 0)],
    2**63: [(None, "[anon]", None, 0, 7, None), ("f", "", "ab", 1, 2, 3), (None, "[jit]", None, 0, U64, None)],
    7: [],
    5: [("\u00df\u20ac", "[kernel]", None, U64, 0, None)] * 300,
}
FIELDS = ["name", "module", "build_id", "address", "offset", "file_offset"]
ORDER = ["name", "address", "offset", "module", "build_id", "file_offset", "mark", "line", "file"]


def stack(stack_id, frames):
    def cell(v):
        return "-" if v is None or v == "" else hexed(v) if isinstance(v, str) else str(v)
    return f"stack {stack_id} " + " ".join(":".join(cell(v) for v in f) for f in frames) + "\n"


def as_dicts(frames):
    return [{k: dict(zip(FIELDS, f)).get(k) for k in ORDER} for f in frames]


def test_stacks_are_read_back(tmp_path):
    script = "".join(stack(i, f) for i, f in STACKS.items()) * 2 + row(ustack_id=U64)
    rec = write(tmp_path / "rec", script=script)
    assert_reads(files(rec, "stacktraces")[0], [{"stack_id": i, "repeated": 0, "frames": as_dicts(f)} for i, f in STACKS.items()])


def test_many_stacks_are_read_back(tmp_path):
    """More than one row group, many pages, a stack at every limit."""
    stacks = {i: [(f"f{(i + k) % 5000}", "m", None, i, k, None) for k in range(i % 4)] for i in range(70000)}
    stacks[70000] = [("deep", "m", None, k, 0, k) for k in range(16384)]
    rec = write(tmp_path / "rec", script="".join(stack(i, f) for i, f in stacks.items()) + row(kind="x"))
    file = files(rec, "stacktraces")[0]
    assert pq.read_metadata(file).num_row_groups == 2
    assert_reads(file, [{"stack_id": i, "repeated": 0, "frames": as_dicts(f)} for i, f in stacks.items()])
    done = run(tmp_path / "deeper", script=stack(1, [("f", "m", None, 0, 0, None)] * 16385))
    assert done.returncode == 1


ROWS = 300_000  # three row groups


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "rec"
    yield write(path, f"generate={ROWS}", "batch_ns=100000000000")
    shutil.rmtree(path)


def test_rows_of_several_row_groups_are_read_back(many):
    """Computes the same rows with the same formulas in SQL: no row more, no row less."""
    assert len(files(many)) == 1 and pq.read_metadata(files(many)[0]).num_row_groups == 3
    db = duckdb.connect()
    db.execute(f"""CREATE TABLE want AS SELECT 1700000000000000000 + (i + i * 7919 % 1000) * 1000 AS timestamp,
        (i * i % 1000003)::BIGINT AS duration, 'kind' || i % 11 AS kind, (i % 64 - 32)::INTEGER AS cpu, (i // 5000)::INTEGER AS tgid,
        (i::HUGEINT * 11400714819323198485 % 18446744073709551616)::UBIGINT AS span_id, (i * if(i % 2 = 1, -1, 1))::BIGINT AS amount,
        'command-' || i % 4099 AS command, if(i % 3 > 0, 'file ' || i, NULL) AS file,
        if(i % 5 > 0, (18446744073709551615 - i % 1009)::UBIGINT, NULL) AS ustack_id, if(i % 7 > 0, i % 100 - 50, NULL) AS runnable,
        1::INTEGER AS weight, NULL::VARCHAR AS reason FROM range({ROWS}) t(i)""")
    columns = ", ".join(d[0] for d in db.execute("DESCRIBE want").fetchall())
    arrow = pq.ParquetFile(files(many)[0], page_checksum_verification=True).read()
    for source in (f"read_parquet('{files(many)[0]}')", "arrow"):
        assert db.execute(f"SELECT count(*) FROM {source}").fetchone() == (ROWS,)
        for a, b in (("want", source), (source, "want")):
            assert db.execute(f"SELECT count(*) FROM (SELECT {columns} FROM {a} EXCEPT ALL SELECT {columns} FROM {b})").fetchone() == (0,)
    assert arrow.num_rows == ROWS


def test_row_groups_are_sorted(many):
    file = pq.ParquetFile(files(many)[0])
    for g in range(file.num_row_groups):
        times = file.read_row_group(g, columns=["timestamp"])["timestamp"].to_pylist()
        assert times == sorted(times) and len(times) == 100000
        (order,) = file.metadata.row_group(g).sorting_columns
        assert (order.column_index, order.descending) == (0, False)


def bounds_of(values):
    values = [v for v in values if v is not None]
    return (min(values), max(values)) if values else (None, None)


def assert_statistics(path):
    """Statistics of every column of every row group. The bounds of long strings may be cut outwards."""
    file = pq.ParquetFile(path)
    for g in range(file.num_row_groups):
        for i, name in enumerate(file.schema_arrow.names):
            chunk, values = file.metadata.row_group(g).column(i), file.read_row_group(g, columns=[name])[name].to_pylist()
            low, high = bounds_of(values)
            assert chunk.statistics.null_count == values.count(None), name
            assert chunk.num_values == len(values)
            assert chunk.has_column_index and chunk.has_offset_index
            if low is None:
                assert not chunk.statistics.has_min_max
            elif isinstance(low, (str, bytes)) and max(len(low), len(high)) > 20:
                assert low[:10] == chunk.statistics.min[:10] and chunk.statistics.min <= low and chunk.statistics.max >= high, name
            else:
                assert (chunk.statistics.min, chunk.statistics.max) == (low, high), name


def test_statistics_bound_every_column(many, tmp_path):
    assert_statistics(files(many)[0])
    assert_statistics(files(write(tmp_path / "edges", script="".join(row(**r) for r in EDGES)))[0])


def test_statistics_of_list_leaves_bound_them(tmp_path):
    rec = write(tmp_path / "rec", script="".join(stack(i, f) for i, f in STACKS.items()) + row(kind="x"))
    group = pq.read_metadata(files(rec, "stacktraces")[0]).row_group(0)
    flat = [{"mark": None, "line": None, "file": None, **dict(zip(FIELDS, f))} for frames in STACKS.values() for f in frames]
    empty = sum(not f for f in STACKS.values())
    for i, name in enumerate(ORDER, 2):
        chunk, values = group.column(i), [f[name] for f in flat]
        assert chunk.path_in_schema == f"frames.list.element.{name}"
        assert (chunk.statistics.min, chunk.statistics.max) == bounds_of(values), name
        assert chunk.statistics.null_count == values.count(None) + empty
        assert chunk.num_values == len(values) + empty


def test_readers_may_skip_by_statistics(many):
    """The result of a filter must not depend on the use of the bounds."""
    path = str(files(many)[0])
    whole = pq.read_table(path)  # noqa: F841 (DuckDB finds it by its name)
    db = duckdb.connect()
    field, u64 = pc.field, pa.uint64()
    for where, filters in (
        ("span_id > 18000000000000000000", field("span_id") > pa.scalar(18 * 10**18, u64)),
        ("ustack_id = 18446744073709551615", field("ustack_id") == pa.scalar(U64, u64)),
        ("command = 'command-77'", field("command") == "command-77"),
        ("timestamp > 1700000000299900000", field("timestamp") > 1700000000299900000),
        ("cpu = -32", field("cpu") == -32),
        ("file = 'file 200000'", field("file") == "file 200000"),
    ):
        want = db.execute(f"SELECT count(*) FROM whole WHERE {where}").fetchone()[0]
        assert want > 0
        assert db.execute(f"SELECT count(*) FROM read_parquet(?) WHERE {where}", [path]).fetchone()[0] == want
        assert pq.read_table(path, filters=filters).num_rows == want


def test_encodings_fit_the_columns(many):
    """Times as deltas, repeated values by dictionary, unique names plain."""
    meta = pq.read_metadata(files(many)[0]).row_group(0)
    encodings = {meta.column(i).path_in_schema: set(meta.column(i).encodings) for i in range(meta.num_columns)}
    assert "DELTA_BINARY_PACKED" in encodings["timestamp"]
    for name in ("kind", "cpu", "command", "ustack_id", "weight"):
        assert "RLE_DICTIONARY" in encodings[name], name
    assert encodings["file"] == {"PLAIN", "RLE"}


def test_long_strings_are_plain(tmp_path):
    """Too much for a dictionary: plain pages of about 1 MiB."""
    rows = [dict(timestamp=i, command=f"{i:04}" + chr(0xe4) * 30000, thread="t" * 60000, buildid=b"\xff" * i) for i in range(400)]
    rec = write(tmp_path / "rec", script="".join(row(**r) for r in rows))
    assert_reads(files(rec)[0], [full(**r) for r in rows])
    assert_statistics(files(rec)[0])
    chunk = pq.read_metadata(files(rec)[0]).row_group(0).column(10)
    assert set(chunk.encodings) == {"PLAIN", "RLE"} and chunk.total_uncompressed_size > 20 << 20


def test_row_groups_and_batches_are_bounded(tmp_path):
    rec = write(tmp_path / "rec", "rows=100", "groups=3", script="".join(row(timestamp=i) + "tick 1\n" for i in range(1000)))
    metas = [pq.read_metadata(f) for f in files(rec)]
    assert [m.num_rows for m in metas] == [300, 300, 300, 100]
    assert [m.num_row_groups for m in metas] == [3, 3, 3, 1]
    assert [f.name for f in files(rec)] == [f"events-00000{i}.parquet" for i in range(1, 5)]
    assert [f.name for f in files(rec, "stacktraces")] == [f"stacktraces-00000{i}.parquet" for i in range(1, 5)]
    assert [r["timestamp"] for f in files(rec) for r in read_arrow(f)] == list(range(1000))


def test_each_batch_has_its_own_strings(tmp_path):
    script = "".join(row(timestamp=i, command=f"c{i}") + stack(9, [(f"f{i}", "m", None, 0, 0, None)]) + f"tick {1 + i * 20 * NS}\n"
                     for i in range(5))
    rec = write(tmp_path / "rec", script=script)
    seen = [(read_arrow(e), read_arrow(s)) for e, s in zip(files(rec), files(rec, "stacktraces"))]
    assert [r["command"] for e, _ in seen for r in e] == [f"c{i}" for i in range(5)]
    assert seen[0][1][0]["frames"][0]["name"] == "f0" and seen[-1][1][0]["frames"][0]["name"] == "f4"


def test_a_killed_writer_leaves_finished_batches(tmp_path):
    """Finished batches are complete, and the unfinished one is gone. --append cleans up and continues."""
    rec = tmp_path / "rec"
    # The third batch has written one row group when the process dies.
    script = "".join(row(timestamp=i) + "tick 1\n" for i in range(40)) + "await 2\n"
    script += "".join(row(timestamp=i) for i in range(40, 55)) + "kill\n"
    done = run(rec, "rows=10", "groups=2", script=script)
    assert done.returncode == -9
    assert [r["timestamp"] for f in files(rec) for r in read_arrow(f)] == list(range(40))
    assert len(files(rec, "stacktraces")) == 2
    (rec / "events-000003.parquet.tmp").write_text("a part")
    done = run(rec, script=row(timestamp=1))
    assert done.returncode == 1 and "has a recording already" in done.stderr
    write(rec, "append=1", script=row(timestamp=99))
    assert not list(rec.glob("*.tmp"))
    assert [r["timestamp"] for f in files(rec) for r in read_duckdb(f)] == [*range(40), 99]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_events_get_their_name_last(tmp_path):
    log = tmp_path / "log"
    run(tmp_path / "rec", script=row(timestamp=1) + stack(1, []), wrapper=["strace", "-f", "-o", str(log), "-e", "trace=/rename|fsync"])
    calls = re.findall(r"(fsync|rename)\w*\(.*?(?:\"((?:events|stacktraces|processes)-000001.parquet)\".*)?\) *= 0", log.read_text())
    names = ["stacktraces-000001.parquet", "processes-000001.parquet", "events-000001.parquet"]
    assert calls == [("fsync", "")] * 3 + [("rename", name) for name in names] + [("fsync", "")]


@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_a_full_disk_is_reported(tmp_path):
    with small_disk(tmp_path / "disk", "2m") as disk:
        done = run(disk / "rec", "generate=1000000", "rows=10000", "groups=1")
        assert done.returncode == 1
        (message,) = [line for line in done.stderr.splitlines() if "cannot write" in line]
        assert re.fullmatch(rf"write_recording: cannot write {disk}/rec/(events|stacktraces)-\d{{6}}\.parquet: No space left on device", message)
        kept = files(disk / "rec")
        assert kept and not list((disk / "rec").glob("*.tmp"))
        assert len(files(disk / "rec", "stacktraces")) == len(kept)
        rows = [pq.ParquetFile(f, page_checksum_verification=True).read().num_rows for f in kept]
        assert min(rows) >= 10000
        assert duckdb.execute("SELECT count(*) FROM read_parquet(?)", [f"{disk}/rec/events-*.parquet"]).fetchone() == (sum(rows),)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to write for another user")
def test_files_belong_to_the_owner(tmp_path):
    rec = write(tmp_path / "new" / "rec", "uid=65534", "gid=65533", script=row(timestamp=1))
    for path, mode, owner in ((rec, 0o750, (65534, 65533)), (files(rec)[0], 0o640, (65534, 65533)),
                              (files(rec, "stacktraces")[0], 0o640, (65534, 65533)), (rec.parent, 0o755, (0, 0))):
        found = path.stat()
        assert (stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)) == (mode, owner), path


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_an_unwritable_folder_is_reported(tmp_path, public):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    tmp_path.chmod(0o755)
    done = subprocess.run([public(WRITER), str(closed / "rec")], input="", text=True, capture_output=True, user=65534, group=65534,
                          env={"PATH": "/usr/bin:/bin"}, extra_groups=[])
    assert done.returncode == 1
    assert done.stderr == f"write_recording: {closed}/rec: cannot make or open the recording's folder: Permission denied\n"


def test_numbers_below_the_root_belong_to_the_writer(tmp_path):
    writers = [subprocess.Popen([str(WRITER), "-", f"root={tmp_path}/root"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(12)]
    dirs = [w.communicate(row(timestamp=1))[0].strip() for w in writers]
    assert sorted(dirs) == sorted(f"{tmp_path}/root/{n}" for n in range(1, 13))
    assert all(os.path.exists(f"{d}/events-000001.parquet") for d in dirs)


def test_a_folder_grants_no_rights(tmp_path):
    """A setgid folder with a default ACL for another user: files made there belong to the owner alone."""
    if os.geteuid() != 0:
        pytest.skip("only root can make such a folder for others")
    given = tmp_path / "given"
    given.mkdir()
    os.chown(given, 1234, 1234)
    given.chmod(0o2777)
    acl = struct.pack("<I" + "HHI" * 5, 2, 1, 7, U32, 2, 7, 1234, 4, 5, U32, 16, 7, U32, 32, 5, U32)
    try:
        os.setxattr(given, "system.posix_acl_default", acl)
    except OSError as e:
        pytest.skip(f"no ACLs here: {e}")
    path = write(given / "recording", script=row(kind="profile"))
    for made in path, *files(path), *files(path, "stacktraces"):
        st = made.stat()
        assert (st.st_uid, st.st_gid) == (0, 0), made
        assert stat.S_IMODE(st.st_mode) == (0o750 if made == path else 0o640)
        assert not [a for a in os.listxattr(made) if "acl" in a]


# ---- stacks of earlier batches --------------------------------------------------------------------------------------


def batches_of_stacks(path, *batches, args=()):
    """A recording with an event and these stacks in each batch; the name of a frame says in which batch it was written."""
    script = ""
    for number, ids in enumerate(batches):
        for i in ids:
            script += f"stack {i} {hexed(f'{i} of {number}')}:{hexed('/bin/a')}:-:1:0:-\n"
        script += row(kind="profile", timestamp=1 + number, ustack_id=ids[-1]) + f"tick {1 + 20 * NS * number}\n" + f"tick {1 + 20 * NS * (number + 1)}\n"
    return write(path, "batch_ns=10000000000", *args, script=script)


def names_seen(*recordings):
    """{stack: the name of its frame} as stacksexport reads it."""
    sql = "SELECT stack_id, frames[1].name AS name FROM stacktraces ORDER BY 1"
    args = [a for r in recordings for a in ("-r", str(r))]
    p = subprocess.run([EXPORT, "query", sql, "--format", "csv", *args], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    return dict(line.split(",") for line in p.stdout.splitlines()[1:])


def test_stacks_of_earlier_batches_are_in_row_groups_of_their_own(tmp_path):
    rec = batches_of_stacks(tmp_path / "r", [1, 2], [2, 3, 1], [4, 2])
    flags = [[pq.ParquetFile(f).read_row_group(g, ["stack_id", "repeated"]).to_pydict() for g in range(pq.ParquetFile(f).num_row_groups)]
             for f in files(rec, "stacktraces")]
    assert [[sorted(zip(g["stack_id"], g["repeated"], strict=True)) for g in f] for f in flags] == [
        [[(1, 0), (2, 0)]], [[(3, 0)], [(1, 1), (2, 1)]], [[(4, 0)], [(2, 1)]]]
    assert names_seen(rec) == {"1": "1 of 0", "2": "2 of 0", "3": "3 of 1", "4": "4 of 2"}


def test_a_part_of_a_recording_has_all_its_stacks(tmp_path):
    rec = batches_of_stacks(tmp_path / "r", [1, 2], [2, 3, 1], [4, 2])
    assert names_seen(files(rec)[2]) == {"2": "2 of 2", "4": "4 of 2"}
    assert names_seen(files(rec)[1], files(rec)[2]) == {"1": "1 of 1", "2": "2 of 1", "3": "3 of 1", "4": "4 of 2"}
    for f in (files(rec)[0], files(rec, "stacktraces")[0]):
        f.unlink()
    assert names_seen(rec) == {"1": "1 of 1", "2": "2 of 1", "3": "3 of 1", "4": "4 of 2"}


def test_a_continued_recording_and_several_have_each_stack_once(tmp_path):
    rec = batches_of_stacks(tmp_path / "r", [1], [2])
    batches_of_stacks(rec, [2, 5], args=["append=1"])
    assert names_seen(rec) == {"1": "1 of 0", "2": "2 of 1", "5": "5 of 0"}
    other = batches_of_stacks(tmp_path / "s", [5, 6], [1, 6])
    assert names_seen(rec, other) == {"1": "1 of 0", "2": "2 of 1", "5": "5 of 0", "6": "6 of 0"}


def test_stacks_of_a_batch_without_events_are_not_earlier_ones(tmp_path):
    """Such a batch is not written: its strings filled it."""
    frames = "".join(f"stack {i} {hexed('x' * 60000 + str(i))}:{hexed('/bin/a')}:-:1:0:-\n" for i in range(1200))
    script = "tick 1\n" + frames + "tick 2\n" + f"stack 7 {hexed('seven')}:{hexed('/bin/a')}:-:1:0:-\n" + row(kind="profile", timestamp=1, ustack_id=7)
    rec = write(tmp_path / "r", script=script)
    assert len(files(rec)) == 1
    assert names_seen(rec) == {"7": "seven"}
