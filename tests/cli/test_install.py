# SPDX-License-Identifier: GPL-2.0-or-later
"""make install-programs and make uninstall."""
import subprocess

import pytest

from conftest import BUILD, ROOT


@pytest.fixture
def installed(tmp_path):
    """make(target) with a DESTDIR after install-programs, and the DESTDIR."""
    def make(target):
        subprocess.run(["make", "-s", target, f"BUILD={BUILD}", f"DESTDIR={tmp_path}", "PREFIX=/usr"], cwd=ROOT, check=True)

    make("install-programs")
    return make, tmp_path


def test_installed_programs_bring_their_library_queries_and_completions(installed):
    _, root = installed
    for path in ["lib/stacks/libduckdb.so", "share/stacks/sql/pprof/cpu_stacks.sql", "share/man/man1/collector.1", "include/stacks_tracing.h",
                 "share/bash-completion/completions/stacktrace", "share/zsh/site-functions/_stacksexport",
                 "share/fish/vendor_completions.d/collector.fish"]:
        assert (root / "usr" / path).stat().st_size > 0
    p = subprocess.run([root / "usr/bin/stacksexport", "query", "SELECT 1"], capture_output=True, text=True, env={"STACKS_DIR": "/nowhere"})
    assert p.returncode == 1 and "/nowhere" in p.stderr  # it was loaded together with libduckdb


def test_uninstall_leaves_no_file(installed):
    make, root = installed
    make("uninstall")
    assert [path for path in root.rglob("*") if not path.is_dir()] == []
