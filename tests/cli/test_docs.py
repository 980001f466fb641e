# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents: their links and anchors work, and the paths and options that they name exist."""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MANUALS = {"collector": "recording.md", "stacksexport": "exporting.md", "stacktrace": "stacktrace.md"}
SUBCOMMANDS = {"stacksexport": ["top", "explain", "pprof", "folded", "speedscope", "trace", "query", "view", "report", "diff", "mcp"]}
COMMON = {"--help", "--usage", "--version"}


def prose(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if not re.match(r"[a-z]+:", target):
                yield page, target


def test_internal_links_and_anchors_resolve():
    broken = []
    for page, target in links():
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        if not to.exists() or anchor and anchor not in anchors(to):
            broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


def test_the_paths_that_documents_name_exist():
    pattern = r"`((?:src|sql|docs|bpf|man|tests|examples|tools|packaging)/[\w./-]+)`"
    missing = [f"{page.name}: {path}" for page in PAGES for path in re.findall(pattern, page.read_text())
               if "NAME" not in path and not (ROOT / path).exists()]
    assert not missing


def test_the_readme_is_at_most_10_kib():
    assert (ROOT / "README.md").stat().st_size <= 10240


def options_of_help(program):
    calls = [[name, "--help"] for name in SUBCOMMANDS.get(program, [])] or [["--help"]]
    text = "".join(subprocess.run([BUILD / "bin" / program, *call], check=True, capture_output=True, text=True,
                                  timeout=60).stdout for call in calls)
    return set(re.findall(r"^ +(?:-\S, )?(--[\w-]+)", text, re.M)) - COMMON


def options_of_manual(program):
    lines = re.findall(r"^\.It Fl .*$", (ROOT / "man" / f"{program}.1").read_text(), re.M)
    return {f"-{m[1]}" for line in lines for m in re.finditer(r"[ ]\\?(-[a-z][\w-]*)", line)} - COMMON


@pytest.mark.parametrize("program", MANUALS)
def test_help_and_manual_page_have_the_same_options(program):
    assert options_of_help(program) == options_of_manual(program)


@pytest.mark.parametrize("program", MANUALS)
def test_help_and_documents_have_the_same_options(program):
    text = (ROOT / "docs" / MANUALS[program]).read_text()
    table = set(re.findall(r"(?<![\w-])(--[a-z][\w-]*)", "".join(re.findall(r"^\| [^|]*`-[^|]*\|", text, re.M))))
    assert table - COMMON == options_of_help(program)
