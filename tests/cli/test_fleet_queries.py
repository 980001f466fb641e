# SPDX-License-Identifier: GPL-2.0-or-later
"""The questions of sql/fleet/ give the numbers that stacksexport gives for the recordings."""
import csv
import importlib.machinery
import importlib.util
import io
import re
import shutil

import pytest

from conftest import ROOT
from exporter import run
from fleetrecordings import write_hosts

HALVES = """WITH h AS (
    SELECT host, command, ustack AS s, CASE WHEN kstack_id IS NULL THEN duration * weight ELSE 0 END AS leaf, duration * weight AS ns
    FROM stacks WHERE kind = 'profile' AND ustack_id IS NOT NULL
    UNION ALL
    SELECT host, command, kstack, duration * weight, duration * weight FROM stacks WHERE kind = 'profile' AND kstack_id IS NOT NULL)"""
ORACLES = {
    "top_functions": HALVES + """, f AS (
        SELECT host, ns, leaf, s[1].name AS n, s[1].module AS m, unnest(list_distinct(list_transform(s, lambda x: {'n': x.name, 'm': x.module}))) AS fn
        FROM h)
        SELECT fn.n, fn.m, sum(CASE WHEN fn.n = f.n AND fn.m = f.m THEN leaf ELSE 0 END) AS self, sum(ns) AS total, count(DISTINCT host)
        FROM f GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC, 1, 2""",
    "library_cost": HALVES + """, f AS (
        SELECT host, command, ns, leaf, s[1].module AS m, unnest(list_distinct(list_transform(s, lambda x: x.module))) AS f FROM h)
        SELECT f, sum(CASE WHEN f = m THEN leaf ELSE 0 END), sum(ns), count(DISTINCT command), count(DISTINCT host)
        FROM f GROUP BY 1 ORDER BY 3 DESC, 2 DESC, 1""",
    "off_cpu_by_reason": """SELECT command, state, sum(blocked_ns), sum(runnable_ns), count(*) FROM offcpu GROUP BY ALL
        ORDER BY 3 DESC, 4 DESC, 1, 2""",
    "hosts_unlike_peers": """WITH p AS (
        SELECT command, host, 100.0 * ns / sum(ns) OVER (PARTITION BY host) AS p
        FROM (SELECT command, host, sum(duration * weight) AS ns FROM events WHERE kind = 'profile' GROUP BY ALL)), q AS (
        SELECT *, (SELECT avg(o.p) FROM p o WHERE o.command = p.command AND o.host != p.host) AS peers, count(*) OVER (PARTITION BY command) AS n
        FROM p)
        SELECT command, host, p, peers, p - peers, n FROM q WHERE n >= 3 ORDER BY abs(p - peers) DESC, 1, 2""",
    "regression": """WITH t AS (
        SELECT command, lower(hex(buildid)) AS b, unnest(list_distinct(list_transform(ustack, lambda x: {'n': x.name, 'm': x.module}))) AS f,
            duration * weight AS ns, sum(duration * weight) OVER (PARTITION BY command, buildid) AS total
        FROM stacks WHERE kind = 'profile' AND command = 'web'), s AS (
        SELECT command, f, b, 100.0 * sum(ns) / any_value(total) AS p FROM t GROUP BY ALL)
        SELECT o.command, o.f.n, o.f.m, o.b, n.b, o.p, n.p, n.p - o.p FROM s o JOIN s n ON o.f = n.f AND o.command = n.command
        WHERE o.b = repeat('00', 20) AND n.b = repeat('01', 20) ORDER BY 8 DESC, 2, 3""",
    "slow_spans": """SELECT trace_name, duration, host, command, tgid, span_id - 18446744073709551616::HUGEINT, timestamp - duration
        FROM events WHERE kind = 'trace_close' ORDER BY 2 DESC, 7, 3, 6 LIMIT 100""",
}


# What a recording has, in one table: numbers, functions, intervals and processes.
EVERYTHING = """SELECT 'events' AS what, host, command, kind AS name, count(*) AS cnt, sum(duration * weight)::BIGINT AS ns, max(span_id) AS most FROM events GROUP BY ALL
    UNION ALL SELECT 'functions', host, command, f.name, count(*), sum(duration * weight)::BIGINT, max(f.address + f."offset")
        FROM (SELECT host, command, duration, weight, unnest(list_concat(kstack, ustack)) AS f FROM stacks) GROUP BY ALL
    UNION ALL SELECT 'offcpu', host, command, state, count(*), sum(offcpu_ns)::BIGINT, max(ustack_id) FROM offcpu GROUP BY ALL
    UNION ALL SELECT 'processes', host, executable, NULL, count(*), min(start), NULL FROM processes GROUP BY ALL
    ORDER BY ALL"""


def load_tool():
    loader = importlib.machinery.SourceFileLoader("fleet_ask", str(ROOT / "tools/fleet-ask"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fleet_ask", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    hosts = write_hosts(folder / "hosts")
    run("merge", hosts, "-d", folder / "fleet")
    tool = load_tool()
    return hosts, tool, tool.connect("duckdb", folder / "fleet")


def test_every_question_has_a_comparison():
    assert sorted(q.stem for q in (ROOT / "sql/fleet").glob("*.sql")) == sorted(ORACLES)


@pytest.mark.parametrize("query", ORACLES)
def test_a_fleet_gives_the_numbers_of_its_recordings(fleet, query):
    hosts, tool, db = fleet
    _, rows = tool.ask(db, ROOT / "sql/fleet" / f"{query}.sql")
    expected = list(csv.reader(io.StringIO(run("query", ORACLES[query], "-r", f"{hosts}/*/1", "--format", "csv").stdout)))[1:]
    assert len(rows) == len(expected) > 1
    numbers = [tuple(float(v) if not isinstance(v, str) else v for v in row) for row in rows]
    assert numbers == [tuple(e if isinstance(n, str) else pytest.approx(float(e), rel=1e-9, abs=1e-9) for e, n in zip(x, y, strict=True))
                       for x, y in zip(expected, numbers, strict=True)]


def everything(recording, *options):
    return run("query", EVERYTHING, "-r", recording, "--format", "csv", *options).stdout


def test_a_fleet_folder_is_a_recording(fleet):
    hosts, _, _ = fleet
    expected = everything(f"{hosts}/*/1")
    assert len(expected.splitlines()) > 40
    assert everything(hosts.parent / "fleet") == expected
    assert everything(f"{hosts.parent}/fleet/events/day=*/hour=*") == expected


def test_a_part_of_a_fleet_folder_is_selected_as_a_part_of_a_recording(fleet):
    hosts, _, _ = fleet
    selection = "--host", "c", "--command", "web", "--from", "10s", "--to", "40s"
    expected = everything(f"{hosts}/*/1", *selection)
    assert len(expected.splitlines()) > 5
    assert everything(hosts.parent / "fleet", *selection) == expected


def test_a_fleet_folder_is_as_long_as_its_recordings(fleet):
    hosts, _, _ = fleet
    long = [run("query", "-f", ROOT / "sql/recording.sql", "-r", r, "--format", "csv").stdout for r in (f"{hosts}/*/1", hosts.parent / "fleet")]
    assert long[0] == long[1]


def test_a_fleet_folder_and_a_recording_are_one_data_set(fleet, tmp_path):
    hosts, _, _ = fleet
    run("merge", hosts / "a", hosts / "b", "-d", tmp_path / "fleet")
    both = "-r", tmp_path / "fleet"
    expected = everything(f"{hosts}/[abc]/1")
    assert everything(hosts / "c" / "1", *both) == expected


def test_damaged_parts_are_left_out(fleet, tmp_path):
    hosts, _, _ = fleet
    shutil.copytree(hosts.parent / "fleet", tmp_path / "fleet")
    (part,) = (tmp_path / "fleet" / "processes").rglob("*.parquet")
    data = bytearray(part.read_bytes())
    data[-200:-8] = bytes(192)  # its end
    part.write_bytes(data)
    p = run("query", "SELECT count(*) FROM events", "-r", tmp_path / "fleet")
    assert "left out" in p.stderr and part.name in p.stderr


def test_the_tables_of_trino_have_all_columns(fleet):
    """The other engines read the columns from the files."""
    _, tool, db = fleet
    script = (ROOT / "sql/fleet/setup/trino.sql").read_text()
    for table, view in ("events", "events"), ("stack_rows", "stacks"):
        columns = re.search(rf"CREATE TABLE {table} \((.*?)\) WITH", script, re.S)[1]
        columns = re.sub(r"ARRAY\(ROW\(.*\)\)", "ARRAY", columns, flags=re.S)
        names = re.findall(r'"?(\w+)"? [A-Z]+(?:,|$)', columns)
        folder = db.rows("SELECT sql FROM duckdb_views() WHERE view_name = '{}'".format(view))[1][0][0]
        path = re.search(r"'(.*?\.parquet)'", folder)[1]
        assert names == [n for n, *_ in db.rows(f"DESCRIBE FROM read_parquet('{path}', hive_partitioning => true)")[1]]
