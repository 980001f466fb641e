# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of any size in the collector's format: rows of all kinds, in batches, in order of time."""
import duckdb

from recordings import NULLABLE, REQUIRED, START

THREADS, STACKS, BATCH = 40, 1000, 500_000
KINDS = ["switch"] * 8 + ["wake"] * 4 + ["rss"] * 2 + ["trace_exit"] * 2 + ["profile", "vfs_read", "blk_read", "tcp_send"]
COLUMNS = {
    "timestamp": f"{START} + i * 2000", "duration": "CASE kind WHEN 'rss' THEN 0 WHEN 'trace_exit' THEN 2000 * (1 + r % 500) ELSE 1000 + r % 50000 END",
    "kind": "kind", "cpu": "0", "tgid": "1000 + thread % 8", "pid": "2000 + thread", "amount": "r * 4096", "buildid": "''::BLOB",
    "span_id": "CASE WHEN kind IN ('trace_exit', 'switch') THEN i // 50000 * 100 + thread ELSE 0 END", "parent_id": "0", "id": "0",
    "command": "'prog'", "trace_name": "'span' || thread % 5", "ustack_id": f"r % {STACKS}", "unwind": "'root'", "state": "'sleeping'",
    "runnable": "500", "target": f"CASE kind WHEN 'wake' THEN 2000 + (thread + 1) % {THREADS} END", "weight": "1", "host": "'here'",
}
SQL = {"int64": "BIGINT", "int32": "INTEGER", "uint64": "UBIGINT", "string": "VARCHAR", "binary": "BLOB"}


def write(folder, cnt):
    """Writes a recording of `cnt` rows to the existing folder."""
    db = duckdb.connect()
    columns = ", ".join(f"CAST({COLUMNS.get(name, 'NULL')} AS {SQL[str(kind)]}) AS {name}" for name, kind in {**REQUIRED, **NULLABLE}.items())
    for number, first in enumerate(range(0, cnt, BATCH), 1):
        db.execute(f"""COPY (SELECT {columns} FROM (
            SELECT i, (hash(i) % 100003)::BIGINT AS r, (hash(i + 7) % {THREADS})::BIGINT AS thread, {KINDS}[1 + (hash(i + 3) % {len(KINDS)})::BIGINT] AS kind
            FROM range({first}, {min(first + BATCH, cnt)}) t(i)))
            TO '{folder}/events-{number:06d}.parquet' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{'stacks.schema_version': '1'}})""")
        db.execute(f"""COPY (SELECT i::UBIGINT AS stack_id, [{{'name': 'f' || (i + d) % 300, 'address': d::UBIGINT, 'offset': i::UBIGINT, 'module': '/bin/p',
            'build_id': 'ab', 'file_offset': d::UBIGINT}} for d in range(20)] AS frames FROM range({STACKS}) t(i))
            TO '{folder}/stacktraces-{number:06d}.parquet' (FORMAT parquet, COMPRESSION zstd)""")
    return folder
