# SPDX-License-Identifier: GPL-2.0-or-later
"""speedscope: the profile of pprof in speedscope's file format."""
import json
import os

import pytest

from exporter import CPU, Raw, run
from recordings import Batch, names


def stacks_of(profile, frames):
    found = {}
    for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
        key = tuple(frames[i]["name"] for i in stack)
        found[key] = found.get(key, 0) + weight
    return found


@pytest.mark.parametrize("query", ["sql/pprof/cpu_stacks.sql", "sql/pprof/offcpu_stacks.sql", "sql/pprof/rss_ustacks_growth.sql"])
@pytest.mark.parametrize("filters", [(), ("-c", "prog", "--offset")], ids=str)
def test_numbers_are_those_of_pprof(tmp_path, query, filters):
    b = Batch()
    b.profile(0, names("hash", "main"), count=3).profile(10, names("read", "main"), count=2).profile(20, names("f", "start"), tgid=9, pid=9, command="other")
    b.slice(0, 10, "sleeping", names("wait", "main"), pid=1).slice(50, 90, "sleeping", names("wait", "main"), pid=1)
    for at, amount in enumerate((1000, 5000, 3000)):
        b.add("rss", at, names("grow" if at < 2 else "shrink", "main"), amount=amount)
    rec = b.write(tmp_path / "rec")
    run("pprof", query, *filters, "-r", rec, "--output", tmp_path / "p")
    raw = Raw(tmp_path / "p")
    written = json.loads(run("speedscope", query, *filters, "-r", rec).stdout)
    assert written["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = written["shared"]["frames"]
    assert len({(f["name"], f.get("file")) for f in frames}) == len(frames)
    for i, profile in enumerate(reversed(written["profiles"])):
        expected = {stack[::-1]: values[i] for stack, values in raw.samples.items() if values[i] > 0}
        assert stacks_of(profile, frames) == expected and expected
        assert (profile["type"], profile["startValue"], profile["endValue"]) == ("sampled", 0, sum(expected.values()))
        name, unit = raw.types[i].split("[")[0].split("/")
        assert (profile["name"], profile["unit"]) == (name, "none" if unit == "count" else unit)


def test_frames_have_their_module_and_hostile_names_are_text(tmp_path):
    evil = 'a"b\n;<script>\x00\x1b\\'
    rec = Batch().profile(1, names(evil, "main", module="/usr/lib/lib<b>.so")).write(tmp_path / "rec")
    frames = json.loads(run("speedscope", CPU, "-r", rec).stdout)["shared"]["frames"]
    assert [f["file"] for f in frames] == ["/usr/lib/lib<b>.so"] * 2
    assert frames[0]["name"].startswith('a"b') and "<script>" in frames[0]["name"]


def test_an_empty_result_leaves_no_file(tmp_path):
    rec = Batch().profile(1, names("f")).write(tmp_path / "rec")
    run("speedscope", CPU, "-c", "nobody", "-r", rec, "--output", tmp_path / "out", status=1)
    assert os.listdir(tmp_path) == ["rec"]
