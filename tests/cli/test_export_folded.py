# SPDX-License-Identifier: GPL-2.0-or-later
"""folded: the profile of pprof as text."""
import os
from collections import Counter

import pytest

from exporter import CPU, Raw, run
from recordings import Batch, names


def folded(text):
    stacks = Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(value)
    return stacks


@pytest.mark.parametrize("query", [CPU, "sql/pprof/cpu_stacks.sql", "sql/pprof/offcpu_stacks.sql"])
@pytest.mark.parametrize("filters", [(), ("-c", "prog"), ("--pid", "9"), ("-c", "prog", "--offset")])
def test_numbers_are_those_of_pprof(tmp_path, query, filters):
    b = Batch()
    b.profile(0, names("hash", "main"), count=3).profile(10, names("read", "main"), count=2).profile(20, names("f", "start"), tgid=9, pid=9, command="other")
    b.slice(0, 10, "sleeping", names("wait", "main"), pid=1).slice(50, 90, "sleeping", names("wait", "main"), pid=1)
    for at in 0, 200:
        b.slice(at, at + 70, "sleeping", names("g", "start"), tgid=9, pid=9, command="other")
    rec = b.write(tmp_path / "rec")
    run("pprof", query, *filters, "-r", rec, "--output", tmp_path / "p")
    expected = {stack[::-1]: values[-1] for stack, values in Raw(tmp_path / "p").samples.items() if values[-1]}
    assert expected
    assert folded(run("folded", query, *filters, "-r", rec).stdout) == expected


def test_names_cannot_forge_frames_or_lines(tmp_path):
    rec = Batch().profile(1, names("a;b\nc 7\td", "main")).write(tmp_path / "rec")
    out = tmp_path / "out"
    run("folded", CPU, "-c", "prog", "-r", rec, "--output", out)
    (line,) = out.read_text().splitlines()
    assert line.rsplit(" ", 1)[0] == "main;a:b c 7 d"


def test_an_empty_result_leaves_no_file(tmp_path):
    rec = Batch().profile(1, names("f")).write(tmp_path / "rec")
    run("folded", CPU, "-c", "nobody", "-r", rec, "--output", tmp_path / "out", status=1)
    assert os.listdir(tmp_path) == ["rec"]
