# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: a failed test of tests/e2e runs once more, and the first failure is printed.

These tests depend on the state of the whole machine: if another tenant takes its CPUs for a second, a timer is late or a
connection times out. A defect in the programs fails again."""
import pathlib

import pytest

OF_THE_MACHINE = pathlib.Path(__file__).parent.parent / "e2e"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(OF_THE_MACHINE):
            item.add_marker(pytest.mark.flaky(reruns=1))  # of pytest-rerunfailures


def pytest_runtest_logreport(report):
    if report.outcome == "rerun":
        print(f"\nTRIED AGAIN {report.nodeid} ({report.when})\n{report.longreprtext}", flush=True)
