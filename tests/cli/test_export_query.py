# SPDX-License-Identifier: GPL-2.0-or-later
"""query: tables and the other formats."""
import csv
import io
import json
import os
import pty
import subprocess

import duckdb
import pytest

from conftest import EXPORT
from exporter import CPU, run
from recordings import BUILD_ID, Batch, names


def test_every_format_has_the_same_rows(rec, tmp_path):
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


def test_stacks_are_in_each_format(rec):
    sql = "SELECT ustack, kstack FROM stacks WHERE kstack_id IS NOT NULL"
    assert "read < main < _start" in run("query", sql, "-r", rec).stdout
    (row,) = json.loads(run("query", sql, "-r", rec, "--format", "json").stdout)
    assert [f["name"] for f in row["ustack"]] == ["read", "main", "_start"]
    assert [f["module"] for f in row["kstack"]] == ["[kernel]"] * 2


@pytest.mark.parametrize(
    "sql, part",
    [("events", 'syntax error at or near "events"'), ("SELECT 1) UNION (SELECT 2", 'syntax error at or near ")"'),
     ("SET VARIABLE x = 1", "returns no rows"), ("EXPLAIN SELECT 1", "returns no rows"), ("FROM event", "Did you mean")],
)
def test_only_statements_with_rows_are_run(rec, sql, part):
    """FROM (events) would have rows, but `events` is no statement."""
    assert part in run("query", sql, "-r", rec, status=1).stderr


def test_a_view_whose_name_is_computed_is_found(rec):
    assert run("query", "SELECT count(*) AS n FROM query_table('eve' || 'nts')", "-r", rec).stdout.split() == ["n", run(
        "query", "SELECT count(*) FROM events", "-r", rec).stdout.split()[1]]


def test_only_large_recordings_are_read_with_threads(rec, tmp_path):
    """Each statement wakes all threads of DuckDB, which costs more than they save in a small recording."""
    large = Batch().profile(1, names("f"), args=os.urandom(2_000_000).hex()).write(tmp_path / "r")
    threads = [int(run("query", "SELECT current_setting('threads') AS threads", "-r", r).stdout.split()[1]) for r in (rec, large)]
    assert threads[0] == 1 < threads[1]


def test_odd_strings_are_quoted(tmp_path):
    odd = 'a,"b\n\u00e9\\'
    rec = Batch().profile(1, names("f"), command=odd).write(tmp_path / "r")
    sql = "SELECT command, NULL AS nothing FROM events"
    assert list(csv.reader(io.StringIO(run("query", sql, "-r", rec, "--format", "csv").stdout)))[1] == [odd, ""]
    assert json.loads(run("query", sql, "-r", rec, "--format", "json").stdout) == [{"command": odd, "nothing": None}]


def test_numbers_that_json_lacks_are_null(rec):
    sql = """SELECT 'inf'::DOUBLE AS a, '-inf'::FLOAT AS b, 'nan'::DOUBLE AS "NaN", ['inf'::DOUBLE, -1.5, '-inf'] AS l,
        {'x': 'nan'::DOUBLE} AS s, 'Infinity "NaN\\" NaN' AS text, 'inf'::DOUBLE AS last"""
    valid = json.loads(run("query", sql, "-r", rec, "--format", "json").stdout, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    text = 'Infinity "NaN\\" NaN'
    assert valid == [{"a": None, "b": None, "NaN": None, "l": [None, -1.5, None], "s": {"x": None}, "text": text, "last": None}]


@pytest.mark.parametrize("form, safe", [("table", "a?[31mb??"), ("csv", "a?[31mb??"), ("json", "a\\u001B[31mb??")])
def test_a_terminal_does_not_obey_names(tmp_path, form, safe):
    hostile = "a\x1b[31mb\u009b\x7f"
    rec = Batch().profile(1, names("f"), command=hostile).write(tmp_path / "r")
    args = [EXPORT, "query", "SELECT command, 'é' AS e FROM events", "-r", rec, "--format", form]
    ours, terminal = pty.openpty()
    subprocess.run(args, stdout=terminal, check=True)
    os.close(terminal)
    shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert safe in shown and "é" in shown and not set(shown) & set("\x1b\u009b\x7f")
    error = run("query", "SELECT command::INT FROM events", "-r", rec, status=1).stderr
    assert "a?[31mb??" in error and len(error.splitlines()) > 1
    # Files and pipes get every byte. Tables are for people everywhere.
    exact = subprocess.run(args, capture_output=True, check=True).stdout.decode()
    assert (hostile in exact or hostile in json.loads(exact)[0]["command"]) if form != "table" else safe in exact


@pytest.mark.parametrize("sql", ["DESCRIBE stacks", "FROM events LIMIT 1", "WITH a AS (SELECT 1) FROM a", "SUMMARIZE events", "SHOW TABLES",
                                 "SELECT 1 AS a, 2 AS a", 'SELECT 1 AS "a""b"', "SELECT 1; SELECT 2 -- ;", "VALUES (1)",
                                 "SELECT INTERVAL 1 DAY, DATE '2024-01-01', 1.5::DECIMAL(5,2), [1], MAP {'a': 1}, uuid(), true"])
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_queries_of_all_sorts_run(rec, sql, form):
    assert run("query", sql, "-r", rec, "--format", form).stdout


def test_statements_before_the_last_run(rec):
    p = run("query", "CREATE TEMP TABLE t AS SELECT '?command' AS c; SET VARIABLE n = 3; SELECT c, getvariable('n') AS n FROM t", "-c", "it's", "-r", rec, "--format", "csv")
    assert p.stdout == "c,n\nit's,3\n"
    p = run("query", "SET VARIABLE n = 3", "-r", rec, status=1)
    assert "no rows" in p.stderr


def test_query_is_read_from_a_file(rec, tmp_path):
    (tmp_path / "q.sql").write_text("SELECT count(*) AS n FROM events WHERE command = '?command'")
    assert run("query", "-f", tmp_path / "q.sql", "-c", "other", "-r", rec, "--format", "csv").stdout == "n\n1\n"
    assert "cpu_time" in run("query", "-f", CPU, "-c", "other", "-r", rec).stdout


def test_a_table_is_written_to_a_file(rec, tmp_path):
    run("query", "SELECT 1 AS n", "-r", rec, "--output", tmp_path / "t")
    assert (tmp_path / "t").read_text() == "n\n1\n"


def test_nothing_is_fetched_from_the_network(rec):
    p = run("query", "SELECT value FROM duckdb_settings() WHERE name IN ('autoload_known_extensions', 'autoinstall_known_extensions')", "-r", rec, "--format", "csv")
    assert p.stdout == "value\nfalse\nfalse\n"


@pytest.mark.parametrize("columns, env, longest", [(100, {}, 100), (0, {"COLUMNS": "110"}, 110), (0, {}, 135), (80, {}, 135)])
def test_stacks_fit_the_terminal(tmp_path, columns, env, longest):
    """Also on a terminal that does not report its width. If even short columns do not fit, they stay readable. A pipe gets
    everything."""
    import fcntl
    import struct
    import termios

    stack = names(*(f"function_{i}_of_a_long_stack" for i in range(50)))
    b = Batch().slice(0, 1000, "sleeping", stack, pid=7).add("wake", 9000, stack, pid=9, target=7).slice(10_000, 20_000, "dead", pid=7)
    args = ["query", "-f", "why_off_cpu.sql", "-r", b.write(tmp_path / "r")]
    assert "function_49_of_a_long_stack" in run(*args).stdout
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    p = subprocess.Popen([EXPORT, *args], stdout=theirs, stderr=subprocess.PIPE, cwd="/", env={**{k: v for k, v in os.environ.items() if k != "COLUMNS"}, **env})
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:
        pass
    assert p.wait(timeout=60) == 0
    assert "…" in text.decode() and max(map(len, text.decode().splitlines())) == longest
