# SPDX-License-Identifier: GPL-2.0-or-later
"""The page as one file, with its answers inside."""

import json
import re
import subprocess
import sys

import pytest

from pages import HOSTILE, METRICS, SECOND, WEB, Answers, Tree
from test_page import drag

pytest_plugins = ["browsing"]

BUNDLE = WEB.parent / "tools" / "bundle-web"


def sliced(answers, metric):
    """A flame answer with ten slices: parse runs in the first half, all else in the second."""
    answer = answers.flame(dict(metric=metric))
    nodes, slices = answer["nodes"], dict(ns=SECOND, node=[], slice=[], value=[])
    for i, value in enumerate(nodes["self"]):
        for s in range(5) if answer["names"][nodes["name"][i]] == "parse" else range(5, 10):
            if value:
                slices["node"].append(i)
                slices["slice"].append(s)
                slices["value"].append(value / 5)
    return dict(answer, slices=slices)


@pytest.fixture
def report(tmp_path):
    answers = Answers()
    data = {
        "api/recording": answers.recording({}),
        "api/timeline?buckets=800": answers.timeline(dict(buckets=800)),
        "api/heatmap": answers.heatmap({}),
        "api/waits": answers.waits({}),
        "api/wakers": answers.wakers({}),
        "api/spans": answers.spans({}),
    }
    for metric in (m["id"] for m in METRICS):
        data[f"api/flame?metric={metric}"] = sliced(answers, metric)
        data[f"api/functions?metric={metric}"] = answers.functions(dict(metric=metric))
    data |= {f"api/stack?id={i}": answers.stack({}) for i in ("a1", "a2")}
    page = subprocess.run([sys.executable, BUNDLE, WEB], capture_output=True, text=True, check=True).stdout
    path = tmp_path / "report.html"
    path.write_text(page.replace(">{}</script>", ">" + json.dumps(data).replace("<", "\\u003c") + "</script>"))
    return path


def test_a_report_shows_everything_from_its_own_file(open_view, report):
    view = open_view(report.as_uri())
    requests = []
    view.page.on("request", lambda request: requests.append(request.url))
    view.open("root=process")
    assert "10 s" in view.page.locator(".trail").inner_text()
    for name in ("Functions", "Waits", "Spans"):
        view.page.get_by_role("tab", name=name).click()
        view.settle()
        assert view.page.locator("tbody tr:visible").count() > 0
    assert view.page.get_by_role("tab").all_inner_texts() == ["Flame graph", "Functions", "Waits", "Spans"]
    view.page.locator("tbody tr:visible").first.click()
    view.page.locator(".fall-wait").first.click()
    view.page.locator(".frames").wait_for()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_a_range_is_selected_without_a_server(open_view, report):
    view = open_view(report.as_uri())
    view.open()
    drag(view, ".brush", 0.5, 1)
    assert "7 s" in view.page.locator(".trail").inner_text()
    view.page.get_by_role("tab", name="Functions").click()
    view.settle()
    assert view.page.locator("tbody tr").count() == 6
    row = view.page.locator("tbody tr", has_text="sort").locator("td").all_inner_texts()
    assert row[:4] == ["5 s", "71.4 %", "5 s", "71.4 %"]
    assert view.page.locator("tbody tr", has_text="parse").count() == 0


def test_a_report_can_be_split(open_view, report):
    """It begins as it was written with --by, and can show the flame graph without groups."""
    text = report.read_text()
    split = json.dumps(Answers().flame(dict(metric="cpu", root="process"))).replace("<", "\\u003c")
    report.write_text(text.replace('{"api/recording"', '{"state": {"root": "process"}, "api/flame?metric=cpu&root=process": ' + split + ', "api/recording"', 1))
    view = open_view(report.as_uri())
    view.open()
    choice = view.page.get_by_label("Split by")
    assert choice.input_value() == "process" and choice.locator("option").all_inner_texts() == ["nothing", "process"]
    drag(view, ".brush", 0.5, 1)
    assert "Choose to split by nothing" in view.page.locator("main").inner_text()
    choice.select_option("none")
    view.settle()
    assert "7 s" in view.page.locator(".trail").inner_text()


def test_hostile_names_do_not_end_the_data(open_view, report):
    view = open_view(report.as_uri())
    view.open("view=functions")
    assert HOSTILE.split("\n")[0] in view.page.locator("tbody").inner_text()
    assert len(re.findall(r"</script", report.read_text())) == 3


def test_recursion_counts_once(view, server):
    tree = Tree()
    tree.add(["main", "fib", "fib", "fib"], 3e9)
    server.answers.flame = lambda q: tree.answer()
    view.open()
    rows = view.page.evaluate("async (answer) => (await import('./slices.js')).sliceFunctions(answer).rows", tree.answer())
    assert [(r["name"], r["self"], r["total"]) for r in rows] == [("fib", 3e9, 3e9), ("main", 0, 3e9)]
