# SPDX-License-Identifier: GPL-2.0-or-later
"""The completion files for bash, zsh and fish that the programs print."""
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, COLLECTOR, EXPORT

PROGRAMS = {"collector": COLLECTOR, "stacksexport": EXPORT, "stacktrace": BUILD / "bin/stacktrace"}
SUBCOMMANDS = ["top", "explain", "pprof", "folded", "speedscope", "firefox", "perfetto", "trace", "query", "live", "diff"]
CALLS = [["collector"], ["stacktrace"], ["stacksexport"], *(["stacksexport", name] for name in SUBCOMMANDS)]
SHELLS = ["bash", "zsh", "fish"]


def output(*args, **kw):
    return subprocess.run([*map(str, args)], check=True, capture_output=True, text=True, timeout=60, **kw).stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """files[program, shell] is the path of a completion file."""
    folder = tmp_path_factory.mktemp("completions")
    made = {}
    for name, program in PROGRAMS.items():
        for shell in SHELLS:
            made[name, shell] = folder / f"{name}.{shell}"
            made[name, shell].write_text(output(program, "--completion", shell))
    return made


def options_of(call):
    """The options in --help: {"--dir", "-d", …}."""
    found = set()
    for line in output(PROGRAMS[call[0]], *call[1:], "--help").splitlines():
        if re.match(r" {2,6}-", line):
            found |= set(re.findall(r"(?:^|[\s,])(--?[a-zA-Z?][a-z-]*)", re.split(r" {2,}(?!-)", line.strip())[0]))
    return found


def complete(files, *words):
    """The words that bash offers for the last word."""
    script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _$1; printf "%s\\n" "${COMPREPLY[@]}"'
    return output("bash", "-uc", script, "bash", files[words[0], "bash"], *words).split()


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_bash_completes_every_option_of_help(files, call):
    options = options_of(call)
    assert "--help" in options and (len(options) > 5 or call == ["stacksexport"])
    offered = set(complete(files, *call, "--")) | set(complete(files, *call, "-"))
    assert options <= offered | {"-h", "-v"} if call == ["stacksexport"] else options <= offered


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_zsh_and_fish_know_every_option_of_help(files, call):
    options = options_of(call)
    zsh, fish = files[call[0], "zsh"].read_text(), files[call[0], "fish"].read_text()
    if call[1:]:
        zsh = zsh[zsh.index(f"\n\t{call[1]})"):].split(";;")[0]
        fish = "\n".join(line for line in fish.splitlines() if f"__fish_seen_subcommand_from {call[1]}'" in line)
    for option in options:
        word = option.lstrip("-")
        if option.startswith("--"):
            assert re.search(rf"--{word}\b", zsh) and f" -l {word} " in fish + " "
            continue
        assert re.search(rf"-\\?{re.escape(word)}[+,]", zsh) or call == ["stacksexport"]
        assert f" -s '{word}'" in fish or f" -s {word} " in fish


@pytest.mark.parametrize("name", PROGRAMS)
def test_bash_registers_the_function_when_it_sources_the_file(files, name):
    assert output("bash", "-c", f'source "{files[name, "bash"]}"; complete -p {name}') == f"complete -F _{name} {name}\n"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_accept_the_syntax(files, name, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    output(shell, "-n", files[name, shell])


def test_hidden_options_are_not_offered(files):
    offered = complete(files, "collector", "--")
    assert "--completion" not in offered and "--unwinder" not in offered


@pytest.mark.parametrize(
    "words, offered",
    [
        (["collector", "-p", "pro"], ["profile"]),
        (["collector", "--programs", "=", "sw"], ["switch"]),
        (["collector", "-p", "profile,sw"], ["profile,switch"]),
        (["stacksexport", "que"], ["query"]),
        (["stacksexport", "query", "--format", "c"], ["csv"]),
        (["stacktrace", "--to", "pp"], ["pprof"]),
        (["stacktrace", "--mode", "=", ""], ["caching", "naive", "passthru", "none"]),
        (["collector", "--uid", "daem"], ["daemon"]),
    ],
)
def test_bash_completes_arguments(files, words, offered):
    assert complete(files, *words) == offered


def test_bash_completes_only_folders_where_a_folder_is_wanted(files, tmp_path):
    (tmp_path / "record ings").mkdir()
    (tmp_path / "record.txt").touch()
    assert complete(files, "collector", "--dir", f"{tmp_path}/rec") == [f"{tmp_path}/record", "ings"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_shell_is_refused(name):
    p = subprocess.run([PROGRAMS[name], "--completion", "csh"], capture_output=True, text=True, timeout=60)
    assert p.returncode in (2, 64) and "csh" in p.stderr and "bash" in p.stderr and p.stdout == ""
