# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs `stacksexport view`, and sends requests to it without a browser."""
import http.client
import json
import re
import select
import subprocess
import urllib.parse

from conftest import EXPORT


class Server:
    """A running server; `path` ends with its token."""

    def __init__(self, *args, opens=False, **kw):
        self.process = subprocess.Popen([EXPORT, "view", *([] if opens else ["--no-open"]), *map(str, args)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **kw)
        ready = select.select([self.process.stdout], [], [], 60)[0]
        self.url = self.process.stdout.readline().strip() if ready else ""
        m = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)(#.*)?", self.url)
        if not m:
            self.process.kill()
            raise AssertionError(self.process.communicate()[1])
        self.port, self.path = int(m[1]), m[2]

    def request(self, method, path, body=None, headers=None):
        """(status, body, headers) of any request."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            try:
                c.request(method, path, body, headers or {})
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has answered before it has read all
            r = c.getresponse()
            return r.status, r.read(), r.headers
        finally:
            c.close()

    def get(self, what, status=200, /, **params):
        query = urllib.parse.urlencode({k.rstrip("_"): v for k, v in params.items()})
        got, body, _ = self.request("GET", f"{self.path}api/{what}" + (f"?{query}" if query else ""))
        assert got == status, body
        return json.loads(body)

    def sql(self, sql, status=200, /, **more):
        got, body, _ = self.request("POST", f"{self.path}api/sql", json.dumps({"sql": sql, **more}).encode())
        assert got == status, body
        return json.loads(body)

    def close(self):
        """Ends it as Ctrl-C does; its messages."""
        self.process.send_signal(2)
        _, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return err


def paths(flame):
    """{(name, …) root first: self} of the nodes with a value of their own; the root is ()."""
    n, stacks, out = flame["nodes"], {0: ()}, {}
    for i, parent in enumerate(n["parent"]):
        if i:
            stacks[i] = stacks[parent] + (flame["names"][n["name"][i]],)
        if n["self"][i]:
            out[stacks[i]] = out.get(stacks[i], 0) + n["self"][i]
    return out


def functions(answer):
    return {(r["module"], r["name"]): (r["self"], r["total"]) for r in answer["rows"]}
