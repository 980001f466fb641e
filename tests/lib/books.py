# SPDX-License-Identifier: GPL-2.0-or-later
"""The calls of tests/tools/vfs_calls.c and the rows that a recording has for them: {(kind, file, reason): (rows, bytes)}."""


def kept(report):
    lines = (line.split() for line in report.splitlines())
    return {(kind, name, reason): (int(rows), int(size)) for kind, name, reason, rows, size in lines}


def recorded(r, names):
    """The rows for files with these names. Pipes have no name and count as "pipefs"."""
    return {
        (kind, name, reason): (rows, size) for kind, name, reason, rows, size in r.rows(
            "SELECT kind, coalesce(nullif(file, ''), fs) AS name, coalesce(reason, '-'), count(*), sum(amount) FROM events "
            "WHERE command = 'vfs_calls' AND kind IN ('vfs_read', 'vfs_write') AND list_contains(?, name) GROUP BY ALL", list(names))
    }


def compare(r, report, missed=0):
    """Checks that both agree except for the rows that the recording reports as missed, and that no row is about a socket."""
    books = kept(report)
    assert len(books) >= 3
    found = recorded(r, {name for _, name, _ in books})
    assert found.keys() <= books.keys(), (found, books)
    absent = {key: rows - found.get(key, (0, 0))[0] for key, (rows, _) in books.items()}
    assert min(absent.values()) >= 0 and sum(absent.values()) <= missed, (found, books)
    assert all(found[key] == books[key] for key in found if absent[key] == 0), (found, books)
    assert r.one("SELECT count(*) FROM events WHERE fs = 'sockfs' OR kind = 'lost' AND reason != 'nested'") == 0
    assert r.one("SELECT coalesce(sum(amount), 0) FROM events WHERE kind = 'lost'") == missed
