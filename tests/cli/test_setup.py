# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/setup on systems other than this machine: with its own PATH, and with package managers that only log their calls."""
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

BASE = ["sh", "dirname", "cat", "tr", "sed", "cut", "id", "mktemp", "grep", "printf", "mkdir", "rm", "tail", "true"]


@pytest.fixture
def setup(tmp_path):
    """setup(**programs) runs it with these programs only. Returns its messages and the logged calls. It must fail, unless
    `change` replaced what makes it fail."""
    def go(change=lambda text: text, status=1, **programs):
        folder, calls = tmp_path / "bin", tmp_path / "calls"
        folder.mkdir()
        calls.touch()
        for name in BASE:
            (folder / name).symlink_to(shutil.which(name))
        (folder / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (folder / "sleep").write_text("#!/bin/sh\n")
        for name, body in programs.items():
            (folder / name.replace("_", "-")).write_text(f'#!/bin/sh\necho "{name} $*" >>{calls}\n{body}\n')
        for program in folder.iterdir():
            if not program.is_symlink():
                program.chmod(0o755)
        checkout = tmp_path / "checkout"
        (checkout / "tools").mkdir(parents=True)
        text = (ROOT / "tools/setup").read_text().replace("PATH=$PATH:/usr/sbin:/sbin", "")
        text = text.replace("/usr/bin/python3", "python3").replace("/usr/lib/linux-tools", "/nowhere")
        (checkout / "tools/setup").write_text(change(text))
        p = subprocess.run(["sh", checkout / "tools/setup", "tests"], env={"PATH": str(folder), "TMPDIR": str(tmp_path)},
                           capture_output=True, text=True, timeout=60)
        assert p.returncode == status, p.stderr
        return p.stderr, calls.read_text().splitlines()

    return go


def test_lists_what_is_missing_and_for_what_without_a_package_manager(setup):
    said, _ = setup()
    assert "there is neither apt-get nor dnf here" in said
    lines = {line[2:].split("  ")[0]: line for line in said.splitlines() if line.startswith("  ")}
    assert "Fedora: gcc-c++" in lines["C++ compiler"] and "Debian: libdw-dev" in lines["DWARF"]
    assert {"compiler for BPF", "libbpf 1.0 or newer", "debugger"} <= set(lines)


def test_knows_the_packages_of_fedora(setup):
    said, calls = setup(dnf="case $* in *repoquery*java-latest*) ;; *repoquery*) echo found ;; esac", rpm="exit 1")
    install = next(call.split() for call in calls if call.startswith("dnf install"))
    assert {"gcc", "gcc-c++", "clang", "bpftool", "libbpf-devel", "elfutils-devel", "perf", "java-devel"} <= set(install)
    assert not [package for package in install if "/" in package or package.endswith("-dev")]
    assert "Still missing:" in said and "C compiler" in said  # nothing was installed


def test_takes_the_first_package_that_a_release_has(setup):
    known = "case $4 in libsysprof-capture-4-dev|binutils-gold) ;; *) echo Package: $4 ;; esac"
    _, calls = setup(apt_get="", apt_cache=known.replace("$4", "$3"), dpkg_query="exit 1")
    install = next(call.split() for call in calls if call.startswith("apt_get install"))
    assert {"libsysprof-4", "binutils", "bpftool", "default-jdk-headless"} <= set(install)
    assert not {"libsysprof-capture-4-dev", "binutils-gold"} & set(install)


def only_optional(text):
    """tools/setup where all packages that it needs are installed, and without the downloads that follow them."""
    text = re.sub(r"^((?:BUILD|TEST)_NEEDS)='\n.*?\n'", r"\1=''", text, flags=re.S | re.M)
    return text[:text.index("\npprof &")]


def test_goes_on_without_a_browser_where_there_is_no_package_of_one(setup):
    said, calls = setup(only_optional, status=0, apt_get="", apt_cache="exit 1", dpkg_query="exit 1", uname="echo x86_64")
    assert "there is no package chromium here; its tests are skipped" in said
    assert not [call for call in calls if call.startswith("apt_get")]


def test_installs_a_browser_where_there_is_a_package(setup):
    _, calls = setup(only_optional, apt_get="", apt_cache="echo Package: $3", dpkg_query="exit 1", uname="echo x86_64")  # fails: nothing comes
    assert "chromium" in next(call.split() for call in calls if call.startswith("apt_get install"))
