# SPDX-License-Identifier: GPL-2.0-or-later
"""The notebooks of examples/explore, executed cell by cell on the recording beside them."""
import json

import matplotlib
import pytest

from conftest import ROOT

EXPLORE = ROOT / "examples" / "explore"


def execute(name, monkeypatch):
    """Everything that the cells define, and the number of pictures that they show."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown, names = [], {}
    monkeypatch.chdir(EXPLORE)
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()) or plt.close("all"))
    for cell in json.loads((EXPLORE / name).read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), names)
    return names, len(shown)


def test_cpu_notebook_runs(monkeypatch):
    names, shown = execute("cpu.ipynb", monkeypatch)
    assert shown == 2
    assert set(names["by_command"].command) == {"sqlite3", "python3", "cpu"}
    assert 3 < names["by_command"].cpu_seconds.sum() < 4
    functions = names["functions"]
    assert functions.total_ms.max() * 1e-3 == pytest.approx(names["by_command"].cpu_seconds[0], rel=0.01)
    assert (functions.self_ms <= functions.total_ms).all()
    assert sum(value for _, value in names["stacks"]) == pytest.approx(names["by_command"].cpu_seconds.sum() * 1e9)


def test_rss_notebook_runs(monkeypatch):
    names, shown = execute("rss.ipynb", monkeypatch)
    assert shown == 2
    peaks = names["memory"].groupby("command").mb.max()
    assert peaks["python3"] > 80 and 30 < peaks["sqlite3"] < 40
    grown = sum(value for _, value in names["stacks"])
    assert grown > peaks["python3"] * 1e6  # it grew, shrank and grew again
    assert all(frames[0] in ("_start", "_dl_start_user") for frames, _ in names["stacks"])


@pytest.mark.parametrize("name", ["cpu.ipynb", "rss.ipynb"])
def test_outputs_are_in_the_file(name):
    cells = [c for c in json.loads((EXPLORE / name).read_text())["cells"] if c["cell_type"] == "code"]
    pictures = sum("image/png" in o.get("data", {}) for c in cells for o in c["outputs"])
    assert pictures == 2
    assert not any(o["output_type"] == "error" for c in cells for o in c["outputs"])
