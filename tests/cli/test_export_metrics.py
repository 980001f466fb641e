# SPDX-License-Identifier: GPL-2.0-or-later
"""metrics: the file of collector --metrics, by HTTP on loopback."""
import os
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import EXPORT
from exporter import run

TEXT = "# TYPE stacks_collector_batches_total counter\nstacks_collector_batches_total 7\n"


@pytest.fixture
def server(tmp_path):
    """The file, and the address that serves it."""
    p = subprocess.Popen([EXPORT, "metrics", tmp_path / "stacks.prom", "0"], stdout=subprocess.PIPE, text=True)
    try:
        yield tmp_path / "stacks.prom", p.stdout.readline().strip()
    finally:
        p.send_signal(signal.SIGTERM)
        p.stdout.close()
        assert p.wait(timeout=60) == 0


def status(url, **kw):
    with pytest.raises(urllib.error.HTTPError) as e:
        urllib.request.urlopen(urllib.request.Request(url, **kw), timeout=60)
    e.value.close()
    return e.value.code


def test_the_file_is_served_while_the_collector_writes_it(server):
    file, url = server
    assert url.startswith("http://127.0.0.1:") and url.endswith("/metrics")
    assert status(url) == 503
    file.write_text(TEXT)
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        assert answer.read().decode() == TEXT
    os.utime(file, (1, 1))
    assert status(url) == 503
    assert status(url.replace("/metrics", "/")) == 404
    assert status(url, data=b"x") == 405


def test_wrong_calls():
    assert "--metrics" in run("metrics", status=2).stderr
    assert "port" in run("metrics", "/tmp/x", "99999", status=2).stderr
