# SPDX-License-Identifier: GPL-2.0-or-later
"""Half a million rows of all kinds: no shipped query is quadratic. `make bench` prints times."""
import subprocess

import pytest

import manyrows
from conftest import EXPORT


@pytest.fixture(scope="module")
def rec(tmp_path_factory):
    return manyrows.write(tmp_path_factory.mktemp("many"), 500_000)


@pytest.mark.parametrize("args", [
    ("query", "-f", "time_by_stack.sql"), ("query", "-f", "why_off_cpu.sql"), ("query", "-f", "span_breakdown.sql"), ("query", "-f", "slow_spans.sql"),
    ("pprof", "offcpu_stacks.sql", "-c", "prog"), ("pprof", "why_off_cpu.sql", "-c", "prog"),
    ("pprof", "usdt_ustack_trace_wait.sql", "-c", "prog"), ("pprof", "rss_ustacks_growth.sql", "-c", "prog"),
    ("trace", "switch_with_stacks.sql", "usdt_all.sql", "rss_counter.sql")], ids=lambda args: args[1] if args[0] != "query" else args[2])
def test_every_query_ends_in_time(rec, tmp_path, args):
    p = subprocess.run([EXPORT, *args, "-r", rec, "--output", tmp_path / "out.gz"], capture_output=True, text=True, timeout=60, cwd="/")
    assert p.returncode == 0, p.stderr
