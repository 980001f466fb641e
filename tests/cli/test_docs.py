# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents: their links and anchors work, and the paths and options that they name exist."""
import re
import subprocess

import pytest

from conftest import BUILD, ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MANUALS = {"collector": "recording.md", "stacksexport": "exporting.md", "stacktrace": "stacktrace.md"}
SUBCOMMANDS = {"stacksexport": ["top", "explain", "pprof", "folded", "speedscope", "firefox", "perfetto", "trace", "query", "view", "live", "report", "diff", "mcp", "merge", "push", "otlp"]}
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
    pattern = r"`((?:src|sql|docs|bpf|man|tests|examples|tools|packaging|contrib|include)/[\w./-]+)`"
    missing = [f"{page.name}: {path}" for page in PAGES for path in re.findall(pattern, page.read_text())
               if "NAME" not in path and not (ROOT / path).exists()]
    assert not missing


def architecture(title):
    return re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", (ROOT / "docs/architecture.md").read_text(), re.S | re.M)[1]


def test_the_modules_of_the_picture_exist():
    modules = re.findall(r"\b(?:capture|process|unwind|runtime|stacks|store|formats|cfi)/\w*", architecture("The way of an event"))
    assert len(modules) > 10
    assert not [m for m in modules if not (ROOT / "src" / m).is_dir() and not (ROOT / "src" / f"{m}.c").exists()]


def test_the_functions_that_decide_are_in_their_files():
    decisions = re.findall(r"`(\w+)\(\)` in `([\w./]+)`", architecture("Where is it decided?"))
    assert len(decisions) > 5
    assert not [f"{name}() in {path}" for name, path in decisions if not re.search(rf"^\w.*\b{name}\(", (ROOT / path).read_text(), re.M)]


def test_the_bound_of_names_of_spans_is_that_of_the_source():
    """An event, the header for programs and a chosen span without a text (which ends with a NUL) have one bound."""
    sizes = {int(re.search(rf"#define {name}\s+(\d+)", (ROOT / path).read_text())[1])
             for path, name in (("bpf/event.h", "EVENT_SPAN_SZ"), ("include/stacks_tracing.h", "STACKS_NAME_SZ"))}
    (size,) = sizes
    page = (ROOT / "docs/spans.md").read_text()
    assert f"first {size} bytes of the name that a program reports" in page and f"first {size - 1} bytes of the name of `BEGIN`" in page


def test_the_layers_are_those_of_the_makefile():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", architecture("Layers"), re.M)
    rules = re.findall(r"^(\w+)_MAY := *(.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert {folder: may.strip("–") for folder, may in rows} == dict(rules)


def test_unit_tests_find_their_module():
    """By its name, or by a path in the comment above the first #include."""
    modules = {path.stem.removesuffix(".bpf") for folder in ("src", "bpf") for path in (ROOT / folder).rglob("*.[ch]")}
    for test in (ROOT / "tests/unit").glob("test_*.c"):
        head = test.read_text().partition("#include")[0]
        paths = re.findall(r"\b(?:src|bpf|include|contrib)/[\w./]*\w", head)
        assert test.stem.removeprefix("test_") in modules or any((ROOT / path).exists() for path in paths), test.name


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
