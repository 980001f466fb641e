# SPDX-License-Identifier: GPL-2.0-or-later
"""Engines other than DuckDB give the same answers from a fleet folder (make fleet). An engine that is not installed is skipped.
Trino is asked if TRINO_URL names a server (docs/fleet.md)."""
import os

import pytest

from conftest import ROOT
from exporter import run
from fleetrecordings import write_hosts
from test_fleet_queries import load_tool

QUESTIONS = sorted((ROOT / "sql/fleet").glob("*.sql"))
NEEDS = {"spark": ("pyspark", {"workers": 2}), "clickhouse": ("chdb", {}), "trino": ("trino", {})}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    run("merge", write_hosts(folder / "hosts"), "-d", folder / "fleet")
    return folder / "fleet"


def plain(rows):
    return [tuple(v if isinstance(v, str) else pytest.approx(float(v), rel=1e-9, abs=1e-9) for v in row) for row in rows]


@pytest.mark.parametrize("engine", NEEDS)
def test_every_question_has_the_answer_of_duckdb(fleet, engine):
    package, options = NEEDS[engine]
    pytest.importorskip(package, reason=f"{package} is not installed")
    if engine == "trino" and "TRINO_URL" not in os.environ:
        pytest.skip("TRINO_URL names no server")
    tool = load_tool()
    duckdb, other = tool.connect("duckdb", fleet), tool.connect(engine, fleet, **options)
    for question in QUESTIONS:
        columns, expected = tool.ask(duckdb, question)
        names, rows = tool.ask(other, question)
        assert names == columns, question.name
        assert rows == plain(expected), question.name


def test_iceberg_takes_the_files_as_they_are(fleet, tmp_path):
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")
    pytest.importorskip("sqlalchemy", reason="pyiceberg's catalog needs sqlalchemy")
    import pyarrow.parquet as pq
    from pyiceberg.catalog.sql import SqlCatalog
    catalog = SqlCatalog("fleet", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("fleet")
    tool = load_tool()
    duckdb = tool.connect("duckdb", fleet)
    for name in ("events", "stacks"):
        files = [str(f) for f in sorted((fleet / name).rglob("*.parquet"))]
        table = catalog.create_table(f"fleet.{name}", schema=pq.read_schema(files[0]))
        table.add_files([f"file://{f}" for f in files])
        assert table.scan().to_arrow().num_rows == duckdb.rows(f"SELECT count(*) FROM {name}")[1][0][0]
    rows = catalog.load_table("fleet.events").scan(row_filter="command == 'web' and kind == 'profile'").to_arrow()
    expected = duckdb.rows("SELECT count(*), sum(ustack_id) FROM events WHERE command = 'web' AND kind = 'profile'")[1][0]
    assert (rows.num_rows, sum(rows["ustack_id"].to_pylist())) == expected
