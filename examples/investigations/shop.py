# SPDX-License-Identifier: GPL-2.0-or-later
"""shop.py [SECONDS] [LIBSPANS]: a web shop with one slow query, and clients that use it.

Every request is a span. /item reads one row by its key. /report sorts a whole table, because the column has no index, and it
holds the lock that writers need: /order waits for it. The recording shows all three."""
import http.client
import http.server
import pathlib
import random
import sqlite3
import sys
import tempfile
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from spans import Spans  # noqa: E402

ROWS = 60_000
lock = threading.Lock()


class Shop:
    def __init__(self, path):
        self.path, self.local = path, threading.local()
        db = self.db()
        db.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, what BLOB)")
        rows = ((n * 7919 % 10007, zlib.compress(f"order {n} ".encode() * 20)) for n in range(ROWS))
        db.executemany("INSERT INTO orders(customer, what) VALUES(?, ?)", rows)
        db.commit()

    def db(self):
        if not hasattr(self.local, "db"):
            self.local.db = sqlite3.connect(self.path, timeout=30)
        return self.local.db

    def item(self):
        row = self.db().execute("SELECT what FROM orders WHERE id = ?", (random.randrange(1, ROWS),)).fetchone()
        return zlib.decompress(row[0])

    def report(self):
        with lock:
            return self.db().execute("SELECT customer, count(*) FROM orders GROUP BY customer ORDER BY max(what || customer)").fetchone()

    def order(self):
        packed = zlib.compress(random.randbytes(20_000), 9)
        with lock:
            self.db().execute("INSERT INTO orders(customer, what) VALUES(?, ?)", (random.randrange(10007), packed[:200]))
            self.db().commit()
        return packed


def handler(shop, spans):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            with spans.span(f"GET {self.path}"):
                body = repr(getattr(shop, self.path.strip("/"))()).encode()
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


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    library = sys.argv[2] if len(sys.argv) > 2 else HERE.parent.parent / "build/examples/libspans.so"
    with tempfile.TemporaryDirectory(dir=".") as folder:
        shop = Shop(f"{folder}/shop.db")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(shop, Spans(str(library))))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        plans = [("/item", 0.002)] * 4 + [("/order", 0.02)] * 3 + [("/report", 0.4)]
        end = time.monotonic() + seconds
        clients = [threading.Thread(target=client, args=(server.server_port, path, pause, end)) for path, pause in plans]
        for c in clients:
            c.start()
        for c in clients:
            c.join()


main()
