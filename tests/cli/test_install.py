# SPDX-License-Identifier: GPL-2.0-or-later
"""make install-programs and make uninstall."""
import shutil
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
                 "share/fish/vendor_completions.d/collector.fish", "lib/systemd/system/collector.service"]:
        assert (root / "usr" / path).stat().st_size > 0
    p = subprocess.run([root / "usr/bin/stacksexport", "query", "SELECT 1"], capture_output=True, text=True, env={"STACKS_DIR": "/nowhere"})
    assert p.returncode == 1 and "/nowhere" in p.stderr  # it was loaded together with libduckdb


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is missing (package systemd)")
def test_systemd_accepts_the_installed_service(tmp_path):
    subprocess.run(["make", "-s", "install-programs", f"BUILD={BUILD}", f"PREFIX={tmp_path}"], cwd=ROOT, check=True)
    unit = tmp_path / "lib/systemd/system/collector.service"
    p = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    # It also reports defects of other units of this machine.
    assert [line for line in p.stderr.splitlines() if "collector" in line or str(tmp_path) in line] == []
    unit.write_text(unit.read_text().replace("WatchdogSec=60s", "WatchdogSec=often"))
    p = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    assert "Failed to parse" in p.stderr


def test_uninstall_leaves_no_file(installed):
    make, root = installed
    make("uninstall")
    assert [path for path in root.rglob("*") if not path.is_dir()] == []
