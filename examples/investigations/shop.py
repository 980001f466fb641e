# SPDX-License-Identifier: GPL-2.0-or-later
"""shop.py [SECONDS] [LIBSPANS]: a web shop with one slow query, and clients that use it.

Every request is a span. /item reads one row by its key. /report sorts a whole table, because no index helps, and holds the lock that
/order needs. A recording shows which requests are slow, in what they wait, and for whom."""

import ctypes
import http.client
import http.server
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from spans import Spans  # noqa: E402

ROWS = 40_000
PLANS = [("/item", 0.002)] * 4 + [("/order", 0.02)] * 3 + [("/report", 0.3)]
PR_SET_NAME = 15


def name_thread(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode())


class Shop:
    def __init__(self, path):
        self.path, self.local, self.lock = path, threading.local(), threading.Lock()
        db = self.db()
        db.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, what BLOB)")
        rows = ((n * 7919 % 10007, random.randbytes(200)) for n in range(ROWS))
        db.executemany("INSERT INTO orders(customer, what) VALUES(?, ?)", rows)
        db.commit()

    def db(self):
        if not hasattr(self.local, "db"):
            self.local.db = sqlite3.connect(self.path, timeout=30)
            self.local.db.execute("PRAGMA cache_size = -65536")
            self.local.db.execute("PRAGMA temp_store = memory")
        return self.local.db

    def item(self):
        row = self.db().execute("SELECT what FROM orders WHERE id = ?", (random.randrange(1, ROWS),)).fetchone()
        return zlib.compress(row[0] * 20)

    def report(self):
        with self.lock:
            return (
                self.db()
                .execute("SELECT count(*) FROM (SELECT what FROM orders ORDER BY what || customer LIMIT 1000000)")
                .fetchone()
            )

    def order(self):
        packed = zlib.compress(random.randbytes(20_000), 9)
        with self.lock:
            self.db().execute("INSERT INTO orders(customer, what) VALUES(?, ?)", (random.randrange(10007), packed[:200]))
            self.db().commit()
        return packed[:100]


def handler(shop, spans):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            name_thread(self.path[1:])
            with spans.span(f"GET {self.path}"):
                body = repr(getattr(shop, self.path[1:])()).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args):
            pass

    return Handler


def client(port, path, pause, end):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.monotonic() < end:
        connection.request("GET", path)
        connection.getresponse().read()
        time.sleep(pause)


def run_clients(port, seconds):
    name_thread("clients")
    end = time.monotonic() + seconds
    for path, pause in PLANS:
        threading.Thread(target=client, args=(port, path, pause, end)).start()


def run_shop(seconds, library):
    name_thread("shop")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(Shop(f"{folder}/shop.db"), Spans(str(library))))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        subprocess.run([sys.executable, __file__, "clients", str(server.server_port), str(seconds)], check=True)


if sys.argv[1:2] == ["clients"]:
    run_clients(int(sys.argv[2]), float(sys.argv[3]))
else:
    run_shop(
        float(sys.argv[1]) if len(sys.argv) > 1 else 10,
        sys.argv[2] if len(sys.argv) > 2 else HERE.parent.parent / "build/examples/libspans.so",
    )
