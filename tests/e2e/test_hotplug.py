# SPDX-License-Identifier: GPL-2.0-or-later
"""CPUs that go offline and come back."""
import pathlib
import subprocess
import time

import pytest

from conftest import EXAMPLES, alone, needs_bpf

pytestmark = [needs_bpf, alone]
CPU1 = pathlib.Path("/sys/devices/system/cpu/cpu1/online")


def test_a_cpu_comes_back_while_recording(start):
    try:
        CPU1.write_text("0")
    except OSError as e:
        pytest.skip(f"cpu1 cannot be taken offline here: {e}")
    try:
        c = start("-p", "profile:u:499,switch:u")
        time.sleep(0.3)
        CPU1.write_text("1")
        time.sleep(2.5)
        # New programs there are seen by all three: samples, switches, and the notices of exec and mmap.
        subprocess.run(["taskset", "-c", "1", EXAMPLES / "cpu", "1"], check=True, capture_output=True)
        CPU1.write_text("0")
        time.sleep(1.5)
        r = c.stop()
    finally:
        CPU1.write_text("1")
    assert r.returncode == 0, r.stderr
    for kind in ("profile", "switch"):
        stacks = r.stacks(f"kind = '{kind}' AND command = 'cpu' AND cpu = 1 AND state IS DISTINCT FROM 'dead'")
        assert stacks, kind
        assert sum(n for names, _, status, n in stacks if status == "root") / sum(n for *_, n in stacks) > 0.9
