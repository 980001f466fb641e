# SPDX-License-Identifier: GPL-2.0-or-later
"""The page on `stacksexport view` itself: what it shows is what the recording has."""

import json
import re
import subprocess
import urllib.request

import pytest

from conftest import EXPORT
from pages import HOSTILE, SECOND
from recordings import PERIOD, Batch, kernel, names

pytest_plugins = ["browsing"]

MILLISECOND = SECOND // 1000


@pytest.fixture
def recording(tmp_path):
    """Ten seconds: parse runs in the first half, sort in the second; a thread sleeps; a process has a hostile name."""
    b = Batch()
    for i in range(200):
        leaf = "parse" if i < 100 else "sort"
        b.profile(i * 50 * MILLISECOND, names(leaf, "handle", "main"), trace_name="GET /report", span_id=1 + i)
    b.profile(3 * SECOND, names(HOSTILE.replace("\0", ""), "main"), count=20, command="<b>evil", pid=300, tgid=300)
    for i in range(10):
        at = i * SECOND
        b.slice(at, at + 100 * MILLISECOND, "sleeping", names("lock", "main"), kernel("futex_wait", "schedule"), pid=101)
        for kind in ("trace_exit", "trace_close"):
            b.add(kind, at + 400 * MILLISECOND, duration=300 * MILLISECOND, span_id=1000 + i, trace_name="GET /report", pid=101)
    b.add(
        "lost",
        2 * SECOND,
        duration=SECOND,
        amount=7,
        tgid=0,
        pid=0,
        command="",
        buildid=b"",
        lost_kind="switch",
        reason="ring_full",
    )
    return b.write(tmp_path / "rec")


@pytest.fixture
def serve():
    """serve(recording…) → the address of `stacksexport view`."""
    running = []

    def go(*recordings):
        p = subprocess.Popen(
            [EXPORT, "view", "--no-open", *recordings], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        running.append(p)
        return p.stdout.readline().strip()

    yield go
    for p in running:
        p.terminate()
        p.communicate()


def ask(url, path):
    return json.load(urllib.request.urlopen(url + path))


def rows(view):
    return [row.locator("td").all_inner_texts() for row in view.page.locator("tbody tr:visible").all()]


def test_functions_are_those_of_top(open_view, serve, recording):
    url = serve(recording)
    view = open_view(url)
    view.open("view=functions")
    shown = {row[5]: (row[0], row[2]) for row in rows(view)}
    top = subprocess.run([EXPORT, "top", "-r", recording], capture_output=True, text=True, check=True).stdout
    cpu = top.split("CPU TIME BY FUNCTION\n")[1].split("\n\n")[0]
    of_top = {
        m[3]: (float(m[1]), float(m[2]))
        for m in re.finditer(r"^ *([\d.]+) +[\d.]+ +([\d.]+) +[\d.]+ +prog +prog +(\w+)$", cpu, re.M)
    }
    assert set(of_top) >= {"parse", "sort", "handle"}
    seconds = {
        name: tuple(float(t.split()[0]) / {"s": 1, "ms": 1000}[t.split()[1]] for t in shown[name])
        for name in of_top
        if name in shown
    }
    for name in ("parse", "sort", "handle"):
        assert seconds[name] == pytest.approx(of_top[name], abs=0.006), name


def test_the_numbers_of_the_page_are_those_of_the_server(open_view, serve, recording):
    url = serve(recording)
    view = open_view(url)
    view.open()
    total = ask(url, "api/flame?metric=cpu")["total"]
    assert total == 220 * PERIOD
    assert f"{total / 1e9:.2f} s" in view.page.locator(".trail").inner_text()
    view.open(f"from=0&to={5 * SECOND}&command=prog&search=^sort$")
    assert view.page.locator(".search-share").inner_text().startswith("0.0 %")
    view.open(f"from={5 * SECOND}&to={10 * SECOND}&command=prog&search=^sort$")
    assert view.page.locator(".search-share").inner_text().startswith("100.0 %")


def test_every_view_of_a_real_server(open_view, serve, recording):
    url = serve(recording)
    view = open_view(url)
    for fragment, text in [
        ("heat=1", "CPU samples"),
        ("view=functions", "parse"),
        ("view=sandwich&fn=handle&module=prog", "Callees"),
        ("view=waits", "sleeping"),
        ("view=spans", "GET /report"),
        (f"view=diff&afrom=0&ato={5 * SECOND}&bfrom={5 * SECOND}&bto={10 * SECOND}", "parse"),
        ("view=sql", "Tables:"),
    ]:
        view.open(fragment)
        assert text in view.page.locator("body").inner_text(), fragment
        assert view.page.get_by_role("alert").count() == 0, fragment


def test_waits_and_their_stacks(open_view, serve, recording):
    view = open_view(serve(recording))
    view.open("view=waits")
    assert rows(view)[0][:2] == ["8.10 s", "9"]
    view.page.locator("tbody tr").first.click()
    view.page.locator(".frames").wait_for()
    stack = view.page.locator(".stack").inner_text()
    assert "futex_wait" in stack and "lock" in stack


def test_sql_reads_and_does_not_write(open_view, serve, recording, tmp_path):
    view = open_view(serve(recording))
    view.open("view=sql")
    view.page.locator("textarea").fill("SELECT kind, count(*) AS n FROM events GROUP BY ALL ORDER BY n DESC")
    view.page.get_by_role("button", name="Run").click()
    view.settle()
    assert rows(view)[0] == ["profile", "220"]
    view.allowed.append("status of 4")
    for sql in (
        f"COPY events TO '{tmp_path}/out.csv'",
        "CREATE TABLE t AS SELECT 1",
        f"ATTACH '{tmp_path}/x.db'",
        "SET enable_external_access = true",
        "FROM read_csv('/etc/passwd')",
    ):
        view.page.locator("textarea").fill(sql)
        view.page.get_by_role("button", name="Run").click()
        view.settle()
        assert view.page.get_by_role("alert").count() == 1, sql
    assert not (tmp_path / "out.csv").exists()


def test_hostile_names_of_a_recording(open_view, serve, recording):
    view = open_view(serve(recording))
    view.open("root=process&open=cpu")
    assert "<b>evil" in view.page.locator(".gutter").inner_text()
    view.open("view=functions")
    assert "<script>alert(1)</script>" in view.page.locator("tbody").inner_text()


def test_an_empty_recording(open_view, serve, tmp_path):
    view = open_view(serve(Batch().write(tmp_path / "empty")))
    view.open()
    assert "This recording has no events" in view.page.locator("#main").inner_text()


def test_a_report_has_the_numbers_of_the_recording(open_view, recording, tmp_path):
    report = tmp_path / "report.html"
    subprocess.run([EXPORT, "report", "-r", recording, "--output", report], check=True)
    view = open_view(report.as_uri())
    view.open("search=^sort$")
    assert f"{220 * PERIOD / 1e9:.2f} s" in view.page.locator(".trail").inner_text()
    assert view.page.locator(".search-share").inner_text().startswith(f"{100 * 100 / 220:.1f} %")
    view.open(f"from={5 * SECOND}&to={10 * SECOND}&search=^sort$")
    assert view.page.locator(".search-share").inner_text().startswith("100.0 %")
    view.open("view=functions&search=")
    assert "<script>alert(1)</script>" in view.page.locator("tbody").inner_text()
    view.open("view=waits")
    view.page.locator("tbody tr").first.click()
    view.page.locator(".frames").wait_for()
    assert "futex_wait" in view.page.locator(".stack").inner_text()
