# SPDX-License-Identifier: GPL-2.0-or-later
"""What -r accepts, and the errors for recordings that cannot be read."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import EXPORT
from exporter import COUNT, CPU, Raw, count, pprof, query_profile, run
from recordings import PERIOD, SECOND, Batch, names



def test_r_takes_folders_files_and_globs(tmp_path):
    for number, rows in ((2, 1), (9, 2), (10, 4)):
        Batch().profile(1, names("f"), count=rows).write(tmp_path / str(number))
    Batch().profile(9, names("f", "g"), count=8).write(tmp_path / "10", 2)
    (tmp_path / "notes").mkdir()
    assert count("-r", tmp_path / "9") == 2
    assert count("-r", f"{tmp_path}/9/") == 2
    assert count("-r", tmp_path) == 12
    env = {**os.environ, "STACKS_DIR": str(tmp_path)}
    assert count(env=env) == 12
    assert count("-r", tmp_path / "10" / "events-000001.parquet") == 4
    assert count("-r", tmp_path / "10" / "stacktraces-000002.parquet") == 8
    assert count("-r", tmp_path / "10" / "events-*2.parquet") == 8
    assert count("-r", tmp_path / "10" / "*") == 12
    assert count("-r", tmp_path / "[29]") == 3
    assert count("-r", tmp_path / "*") == 15


def test_which_recording_is_shown_without_r(tmp_path):
    """The latest one may have failed."""
    for number in (1, 2):
        rec = Batch().profile(1, names("f")).write(tmp_path / str(number))
    three_hours_ago = time.time() - 3 * 3600 - 60
    os.utime(rec / "events-000001.parquet", (three_hours_ago, three_hours_ago))
    for args in ("top",), ("query", COUNT):
        assert run(*args, env={**os.environ, "STACKS_DIR": str(tmp_path)}).stderr == (
            f"stacksexport: {tmp_path}/2 is the newest recording, written 3 h ago\n")
        assert run(*args, "-r", tmp_path).stderr == ""


def test_several_recordings_add_up(tmp_path):
    for number in (1, 2):
        b = Batch().profile(PERIOD, names("f")).profile(number * SECOND + PERIOD, names("f"))
        b.write(tmp_path / str(number))
    run("pprof", CPU, "-c", "prog", "-r", tmp_path / "*", "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    assert raw.samples == {("f",): (4, 4 * PERIOD)}, "a stack that is in both is one"
    # 1 s + 2 s, plus the time that the first sample of each recording stands for
    assert "Duration: 3.02s" in pprof(tmp_path / "p", "-top")


def test_odd_names_are_read(tmp_path):
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


def refused(rec, tmp_path, *parts, args=("query", COUNT, "--output", "out")):
    """Expects an error that contains all parts, no output, and no new file."""
    before = sorted(tmp_path.rglob("*"))
    p = run(*args, *(("-r", rec) if rec else ()), status=1, cwd=tmp_path)
    assert p.stdout == ""
    for part in parts:
        assert str(part) in p.stderr, p.stderr
    assert sorted(tmp_path.rglob("*")) == before
    return p


def test_a_missing_recording_is_refused(tmp_path):
    p = run("top", status=1, env={**os.environ, "STACKS_DIR": str(tmp_path)})
    assert str(tmp_path) in p.stderr and "sudo collector" in p.stderr
    p = run("top", status=1, env={**os.environ, "STACKS_DIR": str(tmp_path / "none")})
    assert "none" in p.stderr and "sudo collector" in p.stderr
    refused(tmp_path, tmp_path, "nothing was recorded there yet, or nothing happened", tmp_path, "sudo collector")
    refused(tmp_path / "nothing", tmp_path, "no recording", "nothing")
    refused(f"{tmp_path}/*.parquet", tmp_path, "no recording", "*.parquet")
    (tmp_path / "3").mkdir()
    refused(tmp_path, tmp_path, tmp_path / "3", "has no batch")
    Batch().profile(1, names("f")).write(tmp_path / "2")
    p = refused(tmp_path, tmp_path, tmp_path / "3", "has no batch", f"the newest that has one is {tmp_path}/2")
    assert count("-r", tmp_path / "2") == 1


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "x.parquet").write_text("x")
    refused(tmp_path / "x.parquet", tmp_path, "x.parquet", "events-N.parquet")


def test_a_missing_second_file_is_refused(rec, tmp_path):
    (rec / "stacktraces-000001.parquet").unlink()
    refused(rec, tmp_path, "stacktraces-000001.parquet is missing", "events-000001.parquet")
    refused(rec / "events-000001.parquet", tmp_path, "stacktraces-000001.parquet is missing")


@pytest.mark.parametrize("name", ["events", "stacktraces"])
def test_damaged_files_are_refused(rec, tmp_path, name):
    path = rec / f"{name}-000001.parquet"
    whole = path.read_bytes()
    for content, word in ((whole[: len(whole) // 2], "truncated"), (whole[:-1], "truncated"), (b"", "empty"),
                          (b"no parquet at all, but text", "not a Parquet"), (b"PAR1" * 3, "damaged")):
        path.write_bytes(content)
        refused(rec, tmp_path, path, word)
    path.write_bytes(b"PAR1" + b"\0" * (len(whole) - 12) + whole[-8:])
    refused(rec, tmp_path, rec)


def test_damage_inside_is_reported(rec, tmp_path):
    path = rec / "events-000001.parquet"
    whole = bytearray(path.read_bytes())
    whole[4 : len(whole) // 3] = b"\xff" * (len(whole) // 3 - 4)
    path.write_bytes(whole)
    refused(rec, tmp_path, rec, args=("query", "FROM events", "--output", "out"))
    refused(rec, tmp_path, rec, args=("top",))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_folder_without_permission_is_refused(rec, tmp_path, public):
    for f in (tmp_path, *tmp_path.parents):
        if f != pathlib.Path("/") and not f.stat().st_mode & 0o001:
            f.chmod(f.stat().st_mode | 0o011)
    nobody = dict(program=public(EXPORT), user=65534, group=65534, extra_groups=[])
    rec.chmod(0o700)
    p = run("query", COUNT, "-r", rec, status=1, **nobody)
    assert str(rec) in p.stderr and "Permission denied" in p.stderr and "root" in p.stderr
    rec.chmod(0o755)
    (rec / "events-000001.parquet").chmod(0o600)
    p = run("query", COUNT, "-r", rec, status=1, **nobody)
    assert "events-000001.parquet" in p.stderr and "Permission denied" in p.stderr


def test_an_unknown_command_lists_the_known_ones(rec, tmp_path):
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
        ("SELECT command, 1 AS n, 2 AS v FROM stacks", ["not a list of frames", "command"]),
        ("SELECT [1], 1 AS n, 2 AS v", ["not a list of frames"]),
        ("SELECT [{'name': 1, 'address': 1, 'offset': 1}] AS s, 1 AS n, 2 AS v", ["not a list of frames: s"]),
        ("SELECT ustack, 1.5::DOUBLE AS n, 2 AS v FROM stacks", ["not an integer", "n"]),
        ("SELECT ustack, 1 AS n, avg(duration) AS mean FROM stacks GROUP BY 1", ["not an integer", "mean"]),
        ("SELEC 1", ["syntax error", "SELEC"]),
        ("SELECT x FROM stacks", ["x"]),
        ("SELECT 'abc", ["does not end"]),
        (" -- nothing", ["no query"]),
        ("SELECT ustack, ?, 1 FROM stacks", ["q.sql"]),
    ],
)
def test_queries_that_do_not_fit_are_refused(rec, tmp_path, sql, parts):
    p = query_profile(rec, tmp_path, sql, status=1)
    assert not (tmp_path / "q.pb.gz").exists()
    for part in parts if "?" not in sql else []:
        assert part in p.stderr, p.stderr


def test_query_files_are_found_by_name(rec, tmp_path):
    p = run("pprof", "sql/pprof/nothing.sql", "-r", rec, status=1)
    assert "nothing.sql; sql/pprof has:" in p.stderr
    assert re.search(r"^  cpu_stacks\.sql +Where do .*\?$", p.stderr, re.M)
    for name in CPU, CPU.removesuffix(".sql"), pathlib.Path(CPU).name, pathlib.Path(CPU).stem:
        run("pprof", name, "-c", "prog", "-r", rec, "--output", "p", cwd=tmp_path)
    assert "no query file cpu_stack;" in run("pprof", "cpu_stack", "-r", rec, status=1).stderr
    p = run("pprof", "/", "-r", rec, status=1)
    assert "directory" in p.stderr
    (tmp_path / "zero.sql").write_bytes(b"SELECT\0")
    assert "not a text file" in run("pprof", tmp_path / "zero.sql", "-r", rec, status=1).stderr
    here = tmp_path / CPU
    here.parent.mkdir(parents=True)
    here.write_text("SELECT ustack, 1 AS mine, 2 AS v FROM stacks LIMIT 1 -- ?command")
    run("pprof", CPU, "-r", rec, "--output", "p", cwd=tmp_path)
    assert Raw(tmp_path / "p").types[0] == "mine/count"


@pytest.mark.parametrize(
    "args, parts",
    [
        ([], ["a command is missing", "--help"]),
        (["profile"], ["profile"]),
        (["pprof"], ["query"]),
        (["pprof", "a.sql", "b.sql"], ["b.sql"]),
        (["top", "x", "y"], ["y"]),
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
def test_wrong_calls_are_refused(args, parts):
    p = run(*args, status=2)
    assert p.stdout == ""
    for part in parts:
        assert part in p.stderr, p.stderr


def test_help_and_version_are_printed():
    for args in (["--help"], ["-h"], ["pprof", "--help"], ["--help", "top"], ["query", "-h"]):
        p = run(*args)
        assert p.stderr == "" and "stacksexport" in p.stdout and "Examples:" in p.stdout
    assert "--no-open" in run("pprof", "--help").stdout and "--no-open" not in run("top", "--help").stdout
    for flag in ("--version", "-v", "-V"):
        assert re.fullmatch(r"stacksexport \d+\.\d+\.\d+\n", run(flag).stdout)


def test_an_empty_result_names_the_source(rec, tmp_path):
    """The source was not recorded, as opposed to a recorded source without rows for the command."""
    def says(*args, status=1):
        return run(*args, "-r", rec, status=status, cwd=tmp_path).stderr
    assert "rss (collector -p rss)\n" in says("pprof", "rss_ustacks_growth.sql", "-c", "prog")
    assert "trace_exit (collector -p usdt:PATH)\n" in says("query", "-f", "span_breakdown.sql", "-c", "prog")
    text = says("pprof", "wake_wakers.sql", "-c", "prog")
    assert "wake (collector -p wake)\n" in text and ("switch (" in text) != ("commands in" in text)
    text = says("pprof", CPU, "-c", "porg")
    assert "collector -p" not in text and "commands in" in text
    assert "tcp_send (collector -p net)\n" in says("query", "FROM events WHERE kind IN ('tcp_send', 'tcp_recv')")
    assert "blk_read (collector -p block)\n" in says("trace", "blk_all.sql", "--output", "t.json")
    Batch().add("rss", 1, None, amount=1).write(tmp_path / "other")
    assert "profile (collector -p profile), switch (collector -p switch)\n" in run("top", "-r", tmp_path / "other", status=1).stderr


def column(name, values):
    """Replaces the values of a column, or removes the column."""
    def change(table):
        at = table.schema.get_field_index(name)
        return table.remove_column(at) if values is None else table.set_column(at, name, values(len(table)))
    return change


def nested(levels):
    """Wraps each list of frames into this many further lists."""
    def change(table):
        frames = table.column("frames").combine_chunks()
        for _ in range(levels):
            frames = pa.ListArray.from_arrays(pa.array(range(len(frames) + 1), pa.int32()), frames)
        return table.set_column(table.schema.get_field_index("frames"), "frames", frames)
    return change


ODD = {
    "frames in lists": ("stacktraces", nested(5), "column frames holds lists in lists"),
    "frames in one more list": ("stacktraces", nested(1), "column frames holds lists in lists"),
    "no kind": ("events", column("kind", None), "column kind is missing"),
    "times as text": ("events", column("timestamp", lambda n: pa.array(["now"] * n)), "column timestamp holds something else"),
    "fractions": ("events", column("timestamp", lambda n: pa.array([1.5] * n)), "column timestamp holds something else"),
    "64 bits": ("events", column("duration", lambda n: pa.array([2**63] * n, pa.uint64())), "column duration holds something else"),
    "an age of the world": ("events", column("duration", lambda n: pa.array([2**63 - 1] * n)), "column duration holds what cannot be"),
    "before all time": ("events", column("timestamp", lambda n: pa.array([-(2**63)] * n)), "column timestamp holds what cannot be"),
    "kinds as numbers": ("events", column("kind", lambda n: pa.array([7] * n)), "column kind holds something else"),
    "no frames": ("stacktraces", column("frames", None), "column address is missing"),
    "frames as text": ("stacktraces", column("frames", lambda n: pa.array(["f"] * n)), "column address is missing"),
    "ids as text": ("stacktraces", column("stack_id", lambda n: pa.array(["x"] * n)), "column stack_id holds something else"),
}


@pytest.mark.parametrize("name, args", [
    ("unwind", ["top"]), ("kstack_id", ["pprof", CPU, "-c", "prog", "--output", "p"]), ("runnable", ["query", COUNT]),
])
def test_a_column_that_no_file_has_is_reported(rec, tmp_path, name, args):
    """If at least one file has the column, the rows of the others have nulls."""
    for number, folder in ((1, "one"), (2, "one"), (1, "both")):
        shutil.copytree(rec, tmp_path / folder, dirs_exist_ok=True)
        for file in ("events", "stacktraces"):
            shutil.copy(rec / f"{file}-000001.parquet", tmp_path / folder / f"{file}-{number:06}.parquet")
    path = tmp_path / "both" / "events-000001.parquet"
    pq.write_table(column(name, None)(pq.read_table(path)), path)
    shutil.copy(path, tmp_path / "one" / "events-000002.parquet")
    run(*args, "-r", tmp_path / "one", cwd=tmp_path)
    said = run(*args, "-r", tmp_path / "both", status=1, cwd=tmp_path).stderr.splitlines()
    assert len(said) == 2 and said[0].endswith(f"{path}: column {name} is missing") and "cannot read" in said[1], said


@pytest.fixture
def two(tmp_path):
    """Two batches. The tests damage the second."""
    Batch().profile(1, names("f", "main"), count=3).write(tmp_path / "rec", 1)
    return Batch().profile(5, names("g", "main"), count=2).write(tmp_path / "rec", 2)


def check_left_out(rec, *parts):
    """The first batch is shown, and the omission is reported."""
    p = run("query", COUNT, "-r", rec, "--format", "csv")
    assert p.stdout == "n\n3\n"
    for part in parts:
        assert part in p.stderr, p.stderr


def check_stacks_left_out(rec, tmp_path):
    run("top", "-r", rec)
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p")
    assert list(Raw(tmp_path / "p").samples) == [("f", "main")]


@pytest.mark.parametrize("name", ODD)
def test_a_foreign_batch_is_left_out(two, tmp_path, name):
    file, change, words = ODD[name]
    path = two / f"{file}-000002.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    check_left_out(two, str(path), "left out", words)
    if name in ("no kind", "frames as text"):
        check_stacks_left_out(two, tmp_path)
    p = run("query", COUNT, "-r", path, status=1)
    assert words in p.stderr and "cannot read" in p.stderr


def test_an_incomplete_batch_is_left_out(two, tmp_path):
    path = two / "events-000002.parquet"
    whole = path.read_bytes()
    for content, words in ((b"", "it is empty"), (whole[:-20], "truncated"), (whole[:4] + b"\xff" * (len(whole) - 12) + whole[-8:], "is damaged")):
        path.write_bytes(content)
        check_left_out(two, str(path), "left out", words)
    path.write_bytes(whole)
    (two / "stacktraces-000002.parquet").unlink()
    check_left_out(two, "stacktraces-000002.parquet is missing", "left out")
    check_stacks_left_out(two, tmp_path)


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_batch_that_is_removed_meanwhile_is_not_called_damaged(two):
    """The collector removes old batches (--keep) while stacksexport reads: at whatever call the file is gone, it says so."""
    seen = set()
    for call in range(3, 24, 2):
        calls = "access,stat,newfstatat,openat,statx"
        p = subprocess.run(["strace", "-f", "-o", "/dev/null", "-P", two / "events-000002.parquet", "-e", f"inject={calls}:error=ENOENT:when={call}+",
                            EXPORT, "query", "SELECT max(command) FROM events", "-r", two], capture_output=True, text=True, timeout=60)
        assert "damaged" not in p.stderr
        if "it was removed since (collector --keep)" in p.stderr:
            seen.add("left out")
            assert p.returncode == 0, p.stderr
        elif p.returncode:
            seen.add("ended")
            assert "1 of 2 batches were removed while they were read (collector --keep); run the command again" in p.stderr
    assert seen == {"left out", "ended"}


def test_damage_inside_names_the_file(two):
    """Readers notice it while they read. The names are not UTF-8, which Parquet promises."""
    path = two / "events-000002.parquet"
    table = pq.read_table(path)
    raw = pa.array([b"a\xff\x1b[31m"] * len(table), pa.binary())
    pq.write_table(table.set_column(table.schema.get_field_index("command"), "command", pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())), path)
    p = run("top", "-r", two, status=1)
    assert f"{path} is damaged" in p.stderr and "move the files of this batch away" in p.stderr and "\x1b" not in p.stderr and "000001.parquet is" not in p.stderr


def test_senseless_values_do_not_crash(tmp_path):
    """Negative, null, too large: nothing crashes, and a profile has the values that fit."""
    b = Batch().add("profile", 1, names("f"), duration=-5).profile(2, names("g")).slice(0, 10, "sleeping", pid=5).slice(-50, 5, "dead", pid=5)
    rec = b.write(tmp_path / "rec")
    path = rec / "events-000001.parquet"
    schema = pa.schema([f.with_nullable(True) for f in pq.read_schema(path)])
    pq.write_table(pa.concat_tables([pq.read_table(path).cast(schema), pa.table({f.name: pa.nulls(3, f.type) for f in schema}).cast(schema)]), path)
    run("top", "-r", rec)
    raw = query_profile(rec, tmp_path, "SELECT frames, x, y FROM stacktraces, (VALUES (18446744073709551615::UBIGINT, -9223372036854775808)) v(x, y)")
    assert set(raw.samples.values()) == {(2**63 - 1, -(2**63))}
