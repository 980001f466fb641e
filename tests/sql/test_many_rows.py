# SPDX-License-Identifier: GPL-2.0-or-later
"""Half a million rows of all kinds: no shipped query is quadratic. make bench has figures."""
import subprocess

import duckdb
import pytest

from conftest import EXPORT
from recordings import NULLABLE, REQUIRED, START

ROWS, THREADS, STACKS = 500_000, 40, 1000
KINDS = ["switch"] * 8 + ["wake"] * 4 + ["rss"] * 2 + ["trace_exit"] * 2 + ["profile", "vfs_read", "blk_read", "tcp_send"]
COLUMNS = {
    "timestamp": f"{START} + i * 2000", "duration": "CASE kind WHEN 'rss' THEN 0 WHEN 'trace_exit' THEN 2000 * (1 + r % 500) ELSE 1000 + r % 50000 END",
    "kind": "kind", "cpu": "0", "tgid": "1000 + thread % 8", "pid": "2000 + thread", "amount": "r * 4096", "buildid": "''::BLOB",
    "span_id": "CASE WHEN kind IN ('trace_exit', 'switch') THEN i // 50000 * 100 + thread ELSE 0 END", "parent_id": "0", "id": "0",
    "command": "'prog'", "trace_name": "'span' || thread % 5", "ustack_id": f"r % {STACKS}", "unwind": "'root'", "state": "'sleeping'",
    "runnable": "500", "target": f"CASE kind WHEN 'wake' THEN 2000 + (thread + 1) % {THREADS} END", "weight": "1", "host": "'here'",
}


@pytest.fixture(scope="module")
def rec(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    db = duckdb.connect()
    sql = {"int64": "BIGINT", "int32": "INTEGER", "uint64": "UBIGINT", "string": "VARCHAR", "binary": "BLOB"}
    columns = ", ".join(f"CAST({COLUMNS.get(name, 'NULL')} AS {sql[str(kind)]}) AS {name}" for name, kind in {**REQUIRED, **NULLABLE}.items())
    db.execute(f"""COPY (SELECT {columns} FROM (
        SELECT i, (hash(i) % 100003)::BIGINT AS r, (hash(i + 7) % {THREADS})::BIGINT AS thread, {KINDS}[1 + (hash(i + 3) % {len(KINDS)})::BIGINT] AS kind
        FROM range({ROWS}) t(i))) TO '{folder}/events-000001.parquet'""")
    db.execute(f"""COPY (SELECT i::UBIGINT AS stack_id, [{{'name': 'f' || (i + d) % 300, 'address': d::UBIGINT, 'offset': i::UBIGINT, 'module': '/bin/p',
        'build_id': 'ab', 'file_offset': d::UBIGINT}} for d in range(20)] AS frames FROM range({STACKS}) t(i)) TO '{folder}/stacktraces-000001.parquet'""")
    return folder


@pytest.mark.parametrize("args", [
    ("query", "-f", "time_by_stack.sql"), ("query", "-f", "why_off_cpu.sql"), ("query", "-f", "span_breakdown.sql"), ("query", "-f", "slow_spans.sql"),
    ("pprof", "offcpu_stacks_for_command.sql", "-c", "prog"), ("pprof", "why_off_cpu_for_command.sql", "-c", "prog"),
    ("pprof", "usdt_ustack_trace_wait_for_command.sql", "-c", "prog"), ("pprof", "ustack_rss_growth_for_command.sql", "-c", "prog"),
    ("trace", "switch_with_stacks.sql", "usdt_all.sql", "rss_counter.sql")], ids=lambda args: args[1] if args[0] != "query" else args[2])
def test_in_time(rec, tmp_path, args):
    p = subprocess.run([EXPORT, *args, "-r", rec, "--output", tmp_path / "out.gz"], capture_output=True, text=True, timeout=60, cwd="/")
    assert p.returncode == 0, p.stderr
