# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks that are larger than their snapshots get the right callers from earlier stacks."""
import re
import subprocess

from conftest import BUILD, needs_bpf

# A recursion as in interpreters: the same few C functions again and again, of which the outer ones stay for a while.
RECURSION = """
import functools, random, sys, time
seconds = float(sys.argv[1])
def leaf():
    if time.process_time() > seconds: sys.exit()
    for i in range(random.randrange(4000)): sum(range(50))
def f(d):
    if d <= 0: return leaf()
    for i in range(3):
        if i % 2: max(map(f, [d - 1]))
        else: sorted([d], key=lambda x: g(d - 1))
def g(d):
    if random.random() < .3: leaf()
    return functools.reduce(lambda a, b: f(d - 1), [1, 2])
while True: f(15)
"""


def test_joined_callers_are_the_missing_ones(tmp_path):
    script = tmp_path / "recursion.py"
    script.write_text(RECURSION)
    out = subprocess.run([BUILD / "tests/check_stitch", "1000", "32768", "/usr/bin/python3", script, "1000"], check=True, capture_output=True, text=True).stdout
    stacks, cut, joined, wrong = map(int, re.fullmatch(r"32768 bytes: (\d+) stacks, (\d+) cut, (\d+) joined, (\d+) wrong\n", out).groups())
    assert stacks == 1000 and cut > 500, out
    assert joined > 0.5 * cut and wrong <= 0.01 * joined, out


@needs_bpf
def test_stitched_rows_are_marked(tmp_path, record):
    script = tmp_path / "recursion.py"
    script.write_text(RECURSION)
    r = record("-p", "profile:u:499", "--stack-size", "32K", "--stitch", "--no-runtimes", "--", "/usr/bin/python3", script, 3)
    assert re.search(r"user stacks ended: .*stitched \d+", r.stderr), r.stderr
    joined = r.rows("SELECT list_transform(ustack, lambda f: f.name), list_transform(ustack, lambda f: f.mark) FROM stacks WHERE unwind = 'stitched'")
    assert len(joined) > 100
    for names, marks in joined:
        added = marks.count("stitched")
        assert added and marks[-added:] == ["stitched"] * added
        assert names[-1] == "_start", names


@needs_bpf
def test_nothing_is_stitched_by_default(tmp_path, record):
    script = tmp_path / "recursion.py"
    script.write_text(RECURSION)
    r = record("-p", "profile:u:499", "--stack-size", "32K", "--", "/usr/bin/python3", script, 1)
    assert r.one("SELECT count(*) FROM events WHERE unwind = 'stitched'") == 0
    assert r.one("SELECT count(*) FROM events WHERE unwind = 'truncated'") > 100
