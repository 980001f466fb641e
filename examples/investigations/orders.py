# SPDX-License-Identifier: GPL-2.0-or-later
"""Fills an SQLite database with packed rows and asks it for what has to be sorted on disk, until it is stopped."""
import os
import sqlite3
import tempfile
import zlib

with tempfile.TemporaryDirectory(dir=".") as folder:
    os.environ["SQLITE_TMPDIR"] = folder
    db = sqlite3.connect(os.path.join(folder, "orders.db"))
    db.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, what BLOB)")
    db.execute("CREATE INDEX by_customer ON orders(customer, what)")
    while True:
        rows = ((n * 7919 % 10007, zlib.compress(f"order {n} ".encode() * 20)) for n in range(20000))
        db.executemany("INSERT INTO orders(customer, what) VALUES(?, ?)", rows)
        db.execute("SELECT count(*) FROM (SELECT what FROM orders ORDER BY what || customer)").fetchall()
        db.execute("DELETE FROM orders WHERE id % 3 = 0")
