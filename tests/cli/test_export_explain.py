# SPDX-License-Identifier: GPL-2.0-or-later
"""explain: a page of sentences that are rows of queries, with the numbers of top."""
import re

import pytest

from conftest import ROOT
from exporter import run
from recordings import PERIOD, Batch, kernel, names
from viewserver import MS, rec  # noqa: F401


def explain(rec, *args):
    return run("explain", rec, *args).stdout


def sections(page):
    return {part.split("\n")[0]: part for part in page.split("\n## ")[1:]}


def test_sentences_have_the_numbers_of_the_recording(rec):
    page = sections(explain(rec))
    assert f"- `prog` used {40 * PERIOD / 1e6:.1f} ms of CPU time (93.0 %)" in page["What ran, and what it cost"]
    assert f"blocked for {19 * 75 * MS / 1e9:.2f} s, waited for a CPU for {19 * 5 * MS / 1e6:.1f} ms" in page["What ran, and what it cost"]
    assert f"- `hot` of `prog`, in `prog`: 69.8 % of the CPU time was in the function itself ({30 * PERIOD / 1e6:.1f} ms)" in page["Where CPU time went"]
    assert "- `prog` waited 1.52 s in `lock`" in page["Where it waited"] and "19 intervals" in page["Where it waited"]
    assert "`other` ended 100.0 %" in page["For whom it waited"]
    assert "- `query` in `prog`: 2 spans" in page["Spans"]
    assert "- 5 events of `switch` were lost (`ring_full`)" in page["What the recording does not know"]
    assert f"`stacksexport top -r {rec} -c prog`" in page["What to run next"]


def test_a_selection_selects(rec):
    page = explain(rec, "-c", "other")
    assert "`other` used" in page and "`hot`" not in page


def test_every_section_names_its_query_and_every_query_has_a_head(rec):
    named = set()
    for part in sections(explain(rec)).values():
        query = re.search(r"\nQuery: `(sql/explain/\w+\.sql)`\n", part)[1]
        named.add(ROOT / query)
    shipped = set((ROOT / "sql/explain").glob("*.sql"))
    assert named <= shipped
    source = (ROOT / "src/stacksexport/explain.c").read_text()
    for path in shipped:
        assert path.read_text().startswith("-- ") and f'"sql/explain/{path.name}"' in source


@pytest.mark.parametrize("args", [(), ("-c", "nobody"), ("--from", "1h")], ids=str)
def test_a_recording_without_events_gives_a_page_that_says_so(tmp_path, rec, args):
    empty = rec if args else Batch().write(tmp_path / "empty")
    assert "has no event" in explain(empty, *args)


def test_names_cannot_become_markup(tmp_path):
    evil = "a`b\n## <script>*_|\x1b[31m"
    b = Batch()
    b.profile(0, names(evil, None, module=f"/lib/{evil}.so"), kernel(evil), count=30, command=evil[:15], thread=evil[:15], host=evil, unwind="truncated")
    b.slice(0, 10 * MS, "sleeping", names(evil), command=evil[:15], thread=evil[:15]).slice(60 * MS, 90 * MS, "sleeping", names(evil), command=evil[:15])
    b.add("trace_close", 90 * MS, duration=MS, trace_name=evil[:15], span_id=1, command=evil[:15])
    page = explain(b.write(tmp_path / evil.replace("/", "")))
    assert "\x1b" not in page
    for line in page.splitlines():
        assert line.count("`") % 2 == 0, line
        outside = re.sub(r"`[^`]*`", "", line)
        assert not re.search(r"(?<!\\)<", outside) and not (outside.startswith("## ") and "script" in outside), line
