# SPDX-License-Identifier: GPL-2.0-or-later
"""diff: its numbers are those of the page and of pprof, and noise is no change."""
import re

import pytest

from exporter import Raw, pprof, run
from recordings import PERIOD, SECOND, Batch, names
from viewserver import MS, changing, rec, serve  # noqa: F401
from webclient import functions

HALVES = ["--before", "..10s", "--after", "10s.."]


def tables(text):
    """{"self": {function: (A, B, change)}, "total": …}, in seconds."""
    found = {}
    for field in "self", "total":
        lines = text.split(f"\n{field.upper()} BY FUNCTION")[1].split("\n\n")[0].splitlines()[1:]
        rows = [line.split() for line in lines if re.match(r"\s*\d", line)]
        found[field] = {row[-1]: tuple(map(float, row[:3])) for row in rows}
    return found


def diff(*args, **kw):
    return tables(run("diff", *args, **kw).stdout)


@pytest.mark.parametrize("metric", ["cpu", "offcpu", "wall"])
@pytest.mark.parametrize("filters", [{}, {"command": "prog"}, {"tid": 101}], ids=str)
def test_both_sides_have_the_numbers_of_the_page(serve, rec, metric, filters):
    page = serve(rec)
    options = [word for key, value in filters.items() for word in (f"--{key}", str(value))]
    selection = {"tid": "pid"}
    sides = [functions(page.get("functions", metric=metric, from_=a, to=b, **{selection.get(k, k): v for k, v in filters.items()}))
             for a, b in ((0, 500 * MS), (500 * MS, 1000 * MS))]
    if not any(sides):
        run("diff", rec, "--before", "0s..500ms", "--after", "500ms..1s", "--metric", metric, *options, status=1)
        return
    got = diff(rec, "--before", "0s..500ms", "--after", "500ms..1s", "--metric", metric, "--all", "-N", 1000, *options)
    for i, field in enumerate(("self", "total")):
        expected = {}
        for side, rows in enumerate(sides):
            for (_, name), values in rows.items():
                expected.setdefault(name, [0, 0])[side] = values[i] / 1e9
        expected = {name: ab for name, ab in expected.items() if any(ab)}
        assert {name: list(row[:2]) for name, row in got[field].items()} == {n: pytest.approx(ab, abs=0.00051) for n, ab in expected.items()}


def test_ranges_count_from_the_beginning_of_the_recording_not_of_the_selection(tmp_path):
    b = Batch()
    b.profile(0, names("first", "main"), command="early", tgid=200, pid=200)
    for second, function in ((2, "before"), (4, "after")):
        b.profile(second * SECOND, names(function, "main"), command="late", count=5)
    got = diff(b.write(tmp_path / "rec"), "--before", "0s..3s", "--after", "3s..6s", "-c", "late", "--all")["self"]
    assert got["before"][0] > 0 and got["after"][0] == 0


def test_changes_are_shown_and_noise_is_not(changing):
    got = diff(changing, *HALVES)
    assert got["self"].keys() == {"slow", "fast"} and "noise" not in got["total"]
    a, b, change = got["self"]["slow"]
    assert (a, b, change) == pytest.approx((250 * PERIOD / 1e9, 500 * PERIOD / 1e9, 250 * PERIOD / 1e9), rel=0.02)
    assert "noise" in diff(changing, *HALVES, "--all")["self"]
    assert diff(changing, "--before", "..10s", "--after", "..10s") == {"self": {}, "total": {}}
    per_span = diff(changing, *HALVES, "--normalise", "spans")["self"]
    assert per_span["slow" if "slow" in per_span else "fast"][1] < b, "B has twice the spans of A"


def test_groups_and_order(rec, tmp_path):
    """The groups have all that the functions have, and are the roots of the profile."""
    p = run("diff", rec, "--before", "0s..500ms", "--after", "500ms..1s", "--metric", "wall", "--by", "process", "--sort", "b", "--all", "-N", 1000,
            "-o", tmp_path / "d.pb.gz")
    lines = p.stdout.split("\nWALL CLOCK BY PROCESS\n")[1].split("\n\n")[0].splitlines()
    groups = [(float(a), float(b), label) for a, b, *_, label in (re.split(r"\s{2,}", line.strip()) for line in lines[1:])]
    assert {label for *_, label in groups} == {"prog (100)", "other (200)"}
    found = tables(p.stdout)["self"].values()
    for side in 0, 1:
        assert sum(g[side] for g in groups) == pytest.approx(sum(f[side] for f in found), abs=0.003)
    for order in [g[1] for g in groups], [f[1] for f in found]:
        assert order == sorted(order, reverse=True) and len(order) > 1
    text = pprof(tmp_path / "d.pb.gz", "-traces")
    assert {lines[-1].strip() for lines in map(str.splitlines, re.split(r"\n-+\+-+\n", text)[1:-1])} == {"prog (100)", "other (200)"}
    assert "--sort 'self': expected change, a, b or p" in run("diff", rec, "--before", "..1s", "--sort", "self", status=2).stderr


def test_two_recordings_are_compared(changing, tmp_path):
    b = Batch()
    for i in range(2000):
        b.profile(i * 10 * MS, names("new", "main"))
    other = b.write(tmp_path / "other")
    got = diff(changing, other)["self"]
    assert got["new"][0] == 0 and got["fast"][1] == 0


def test_the_profile_is_what_diff_base_makes(changing, tmp_path):
    t0 = 1_700_000_000 - PERIOD / SECOND
    for name, side in (("a", ("--to", f"{t0 + 10:.9f}")), ("b", ("--from", f"{t0 + 10:.9f}"))):
        run("pprof", "sql/pprof/cpu_stacks.sql", "-r", changing, *side, "--output", tmp_path / name)
    a, b = Raw(tmp_path / "a").samples, Raw(tmp_path / "b").samples
    run("diff", changing, *HALVES, "-o", tmp_path / "d.pb.gz")
    expected = {}
    for sign, samples in ((-1, a), (1, b)):
        for stack, values in samples.items():
            expected[stack[0]] = expected.get(stack[0], 0) + sign * values[1]
    top = pprof(tmp_path / "d.pb.gz", "-top", "-unit=ns", "-nodefraction=0")
    flat = {line.split()[-1]: float(line.split()[0].removesuffix("ns")) for line in top.splitlines() if re.match(r" *-?[0-9.]+(ns)? .*%", line)}
    assert flat == {name: pytest.approx(v, rel=1e-3, abs=1e6) for name, v in expected.items()} | {"main": 0}
    assert float(re.search(r"of (\S+)ns total", top)[1]) == pytest.approx(sum(v for _, v in a.values()), rel=1e-3), "percentages are of A"


@pytest.mark.parametrize("limit, status", [
    ("self > 5%", 3), ("self>90%", 0), ("total > 5 %", 3), (" all > 0% ", 0), ("self", 2), ("self > 5", 2), ("self > x%", 2), ("self > 5% 6%", 2),
    ("selfish > 5%", 2), ("self > -5%", 2), ("self < 5%", 2), ("self > nan%", 2), ("", 2),
])
def test_a_limit_sets_the_exit_status(changing, limit, status):
    p = run("diff", changing, *HALVES, "--fail-if", limit, status=status)
    assert ("slow" in p.stderr) == (status == 3) or "total" in limit


@pytest.mark.parametrize("args", [[], ["--before", "5"], ["--before", "1s..x"], [*HALVES, "--metric", "x"], [*HALVES, "--normalise", "x"]], ids=str)
def test_wrong_calls_are_refused(changing, args):
    assert run("diff", changing, *args, status=2).stdout == ""


def test_an_absent_source_is_named_in_one_line(tmp_path):
    rec = Batch().slice(0, 10, "sleeping", names("wait")).slice(50, 60, "sleeping").write(tmp_path / "rec")
    (line,) = run("diff", rec, rec, status=1).stderr.splitlines()
    assert "profile (collector -p profile)" in line


def test_names_are_text(tmp_path):
    evil = 'a"b\n;<script>\x1b[31m'
    b = Batch()
    for i in range(200):
        b.profile(i * 10 * MS, names(evil if i >= 100 else "f", "main"))
    p = run("diff", b.write(tmp_path / "rec"), "--before", "..1s", "--after", "1s..", "--fail-if", "self > 5%", status=3)
    assert "\x1b" not in p.stdout + p.stderr and "<script>" in p.stdout
    assert all(line.count("<script>") <= 1 for line in p.stdout.splitlines())
