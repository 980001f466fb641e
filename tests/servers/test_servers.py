# SPDX-License-Identifier: GPL-2.0-or-later
"""Four servers with one cause of slowness each: the first screen of `stacksexport top` names it."""
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import urllib.request

import pytest

from conftest import EXPORT, needs_bpf, wait_for

pytestmark = needs_bpf

SCREEN = 50  # lines


def program(name, *folders):
    """Path of a program, or skips the test."""
    path = shutil.which(name, path=os.pathsep.join([*folders, os.environ["PATH"], "/usr/sbin", "/usr/local/go/bin"]))
    return path or pytest.skip(f"no {name}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def get(port):
    return urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60).read()


@pytest.fixture
def serve(spawn):
    """serve(*argv) → a server, which ends with its workers at the end of the test."""
    servers = []

    def go(*argv, **popen):
        servers.append(spawn(*argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **popen))
        return servers[-1]

    yield go
    for server in servers:
        server.terminate()
        server.wait(60)


def rows(record, command, title):
    """The rows of a table of the first screen for a command, recorded for two seconds under a load."""
    r = record("-p", "profile:uk:99,switch:ku", "--duration", "2s")
    text = subprocess.run([EXPORT, "top", "-r", r.path, "-c", command], capture_output=True, text=True, check=True).stdout
    screen = text.splitlines()[:SCREEN]
    table = screen[screen.index(title) + 2:]
    return table[:table.index("")] if "" in table else table


@pytest.fixture
def postgres(serve):
    """pgbench's clients update one row: they wait for each other's transactions."""
    server = program("postgres", *map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin")))
    initdb = program("initdb", str(pathlib.Path(server).resolve().parent))
    pgbench, psql = program("pgbench"), program("psql")
    user = pwd.getpwnam("postgres")
    folder = pathlib.Path("/tmp") / f"servers-{os.getpid()}"
    folder.mkdir(mode=0o700)
    os.chown(folder, user.pw_uid, user.pw_gid)
    owner = dict(user=user.pw_uid, group=user.pw_gid, cwd=folder)
    as_user = dict(owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        subprocess.run([initdb, "-D", folder / "data", "-A", "trust"], check=True, **as_user)
        serve(server, "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", **owner)
        sql = lambda text: subprocess.run([psql, "-q", "-h", folder, "-d", "postgres", "-c", text], **as_user).returncode == 0
        wait_for(lambda: sql("SELECT 1"))
        assert sql("CREATE TABLE counter AS SELECT 1 AS id, 0 AS n")
        (folder / "update.sql").write_text("UPDATE counter SET n = n + 1 WHERE id = 1;\n")
        serve(pgbench, "-n", "-h", folder, "-c", 8, "-j", 2, "-T", 600, "-f", folder / "update.sql", "postgres", **owner)
        wait_for(lambda: subprocess.run([psql, "-qAt", "-h", folder, "-d", "postgres", "-c", "SELECT n FROM counter"],
                                        **{**as_user, "stdout": subprocess.PIPE}).stdout.strip() not in (b"", b"0"))
        yield
    finally:
        pid = folder / "data" / "postmaster.pid"
        if pid.exists():
            os.kill(int(pid.read_text().split()[0]), 3)  # immediate shutdown
            wait_for(lambda: not pid.exists(), 30)
        shutil.rmtree(folder)


def test_postgres_waits_for_a_row(postgres, record):
    first = rows(record, "postgres", "OFF-CPU TIME BY FUNCTION")[0].split()
    assert first[-1] == "XactLockTableWait", first


def test_queries_of_postgres_are_spans(postgres, record):
    """The text of a query is the name of all events of its backend meanwhile: its waits for the row have it."""
    server = program("postgres", *map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin")))
    r = record("-p", f"span:n:usdt:{server}:postgresql:query__start=s..query__done,switch:u", "--duration", "2s")
    update = "UPDATE counter SET n = n + 1 WHERE id = 1;"
    ended, waits = r.rows(f"SELECT count(*) FILTER (kind = 'trace_close' AND reason IS NULL), count(*) FILTER (kind = 'switch' AND state = 'sleeping') FROM events WHERE trace_name = '{update}'")[0]
    assert ended > 10 and waits > 10
    top = subprocess.run([EXPORT, "top", "-r", r.path, "-c", "postgres", "--by", "span"], capture_output=True, text=True, check=True).stdout
    assert update in top


NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off; gzip on; gzip_comp_level 9; gzip_types *; gzip_min_length 1;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


def test_nginx_compresses(record, serve, tmp_path):
    """Each answer is compressed anew, at the highest level."""
    server, load, port = program("nginx"), program("wrk"), free_port()
    (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, port=port))
    (tmp_path / "index.html").write_bytes(b"".join(b"%d squared is %d\n" % (i, i * i) for i in range(40000)))
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    serve(server, "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error.log")
    wait_for(lambda: answers(port))
    serve(load, "-t1", "-c4", "-d600s", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{port}/")
    table = rows(record, "nginx", "CPU TIME BY FUNCTION")
    assert "deflate" in table[0] and "libz.so" in table[0], table


GUNICORN = """
import time
def read_rates():
    time.sleep(0.05)
def app(environ, start_response):
    read_rates()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
"""


def test_gunicorn_waits_for_a_call_of_the_program(record, serve, tmp_path):
    gunicorn, load, port = program("gunicorn"), program("wrk"), free_port()
    (tmp_path / "shop.py").write_text(GUNICORN)
    server = serve(gunicorn, "-w", 2, "-b", f"127.0.0.1:{port}", "shop:app", cwd=tmp_path)
    wait_for(lambda: answers(port) and get(port) == b"ok")
    serve(load, "-t1", "-c4", "-d600s", f"http://127.0.0.1:{port}/")
    command = pathlib.Path(f"/proc/{server.pid}/comm").read_text().strip()
    first = rows(record, command, "OFF-CPU TIME BY FUNCTION")[0].split()
    assert first[-1] == "read_rates" and first[-2] == "shop.py", first


GO = """
package main

import (
	"net/http"
	"regexp"
)

func isWord(s string) bool {
	return regexp.MustCompile(`^(?i:[a-z]+(-[a-z]+){0,40})$`).MatchString(s)
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if isWord("well-known") {
			w.Write([]byte("ok"))
		}
	})
	http.ListenAndServe("127.0.0.1:PORT", nil)
}
"""


def test_go_compiles_a_regular_expression_for_each_request(record, serve, tmp_path):
    go, load, port = program("go"), program("wrk"), free_port()
    (tmp_path / "main.go").write_text(GO.replace("PORT", str(port)))
    subprocess.run([go, "build", "-o", tmp_path / "goserver", tmp_path / "main.go"], check=True, cwd=tmp_path,
                   env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
    serve(tmp_path / "goserver")
    wait_for(lambda: answers(port) and get(port) == b"ok")
    serve(load, "-t1", "-c4", "-d600s", f"http://127.0.0.1:{port}/")
    table = rows(record, "goserver", "CPU TIME BY FUNCTION")
    assert any("regexp" in row for row in table[:5]), table
