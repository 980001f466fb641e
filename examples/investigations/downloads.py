# SPDX-License-Identifier: GPL-2.0-or-later
"""Five downloads of 300 KB from Python's http.server: for the source net."""
import functools
import http.server
import pathlib
import tempfile
import threading
import urllib.request

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "file").write_bytes(bytes(300000))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 8099), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        for _ in range(5):
            urllib.request.urlopen("http://127.0.0.1:8099/file").read()
        server.shutdown()
