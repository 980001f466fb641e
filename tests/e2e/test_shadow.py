# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares each walk of a single-stepped program with a shadow stack of its calls (tests/tools/shadow_walks.c)."""
import os
import subprocess

import pytest

from conftest import BUILD, EXAMPLES, ROOT

TOOL = BUILD / "tests" / "shadow_walks"
CASES = ["bridge", "bridge.stripped", "coroutine", "exceptions", "forks", "pushed_leaf", "pushed_leaf.stripped", "signals",
         "static", "static.headerless", "switch", "threads", "tiny_gap", "tiny_gap.stripped"]


@pytest.fixture(scope="module")
def programs():
    """The folder with the programs of tests/shadow."""
    subprocess.run(["make", "-s", "shadow-build"], cwd=ROOT, check=True, env=dict(os.environ, MAKEFLAGS=""))
    return BUILD / "shadow"


def step(*args):
    """({count: number}, the output)."""
    result = subprocess.run([TOOL, *args], text=True, capture_output=True, timeout=300)
    assert result.returncode in (0, 1), result.stderr
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    return {line[0]: int(line[1]) for line in lines if len(line) == 2}, result.stdout


def assert_none_is_wrong(counts, text):
    assert counts["walks"] > 1000, text
    assert counts["wrong root"] == 0, text
    assert counts["wrong other"] == 0, text


@pytest.mark.parametrize("case", CASES)
def test_no_walk_is_wrong(programs, case):
    program = programs / case
    counts, text = step("--in", f"/shadow/{case}", program)
    assert "the command exited with 0" in text
    assert_none_is_wrong(counts, text)


@pytest.mark.parametrize("example, args", [("cpu", ["0"]), ("deep", []), ("lock", [])])
def test_examples_are_walked_to_the_root(programs, example, args):
    counts, text = step("--max", "100000", EXAMPLES / example, *args)
    assert_none_is_wrong(counts, text)
    assert counts["whole"] > 0.999 * counts["walks"], text


def test_a_truncated_stack_is_reported(programs):
    """A truncated stack lacks callers, and the walk says so: none is complete, and none is wrong."""
    counts, text = step("--stack", "1", "--from", "descend", "--max", "150000", EXAMPLES / "deep")
    assert_none_is_wrong(counts, text)
    assert counts["honest: truncated"] > 1000, text
