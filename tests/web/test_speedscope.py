# SPDX-License-Identifier: GPL-2.0-or-later
"""What `stacksexport speedscope` writes, opened by speedscope itself."""
import subprocess

import pytest

from browsing import CHROMIUM, launch
from conftest import EXPORT, ROOT
from recordings import PERIOD, Batch, names

SPEEDSCOPE = ROOT / ".deps/speedscope/index.html"
EVIL = 'a"b;<script>alert(1)</script>\\u0000'

pytestmark = pytest.mark.skipif(not CHROMIUM or not SPEEDSCOPE.exists(), reason="chromium or speedscope is missing: run make setup-tests")


def table(page):
    """The rows of the sandwich view: {function: (total, self)}, as texts."""
    page.keyboard.press("3")
    page.wait_for_selector("text=Symbol Name")
    rows = page.evaluate("[...document.querySelectorAll('table tr')].map(r => [...r.cells].map(c => c.innerText))")
    return {row[2].strip(): tuple(cell.split("(")[0].strip() for cell in row[:2]) for row in rows if len(row) == 3 and "(" in row[0]}


def test_speedscope_shows_the_numbers_of_the_recording(tmp_path):
    b = Batch()
    b.profile(0, names("hash", "main"), count=30).profile(100, names("read", "main"), count=10).profile(200, names(EVIL, "main"), count=10)
    rec = b.write(tmp_path / "rec")
    subprocess.run([EXPORT, "speedscope", "cpu_stacks.sql", "-r", rec, "--output", tmp_path / "out.json"], check=True, timeout=60)
    profile = {"hash": 30 * PERIOD, "read": 10 * PERIOD, EVIL: 10 * PERIOD}
    page = launch().new_page()
    page.set_default_timeout(15_000)
    try:
        complaints = []
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("dialog", lambda d: complaints.append(d.message))
        page.goto(f"file://{SPEEDSCOPE}")
        page.set_input_files("input[type=file]", str(tmp_path / "out.json"))
        page.wait_for_function("document.body.innerText.includes('cpu_time')")
        rows = table(page)
    finally:
        page.close()
    assert not complaints
    assert rows.keys() == {"main", *profile}
    for name, (total, own) in rows.items():
        assert own == (f"{profile[name] / 1e6:.2f}ms" if name in profile else "0.00ns"), name
    assert rows["main"][0] == f"{sum(profile.values()) / 1e6:.2f}ms"
