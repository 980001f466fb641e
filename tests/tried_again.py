# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: a test of tests/e2e that fails is tried once more, and what it said the first time is printed.

Those are about the whole machine as it is just then: another tenant that has its CPUs for a second makes a timer late or a
connection time out. What is wrong in the programs fails again.
"""
import pathlib

import pytest

OF_THE_MACHINE = pathlib.Path(__file__).parent / "e2e"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(OF_THE_MACHINE):
            item.add_marker(pytest.mark.flaky(reruns=1))  # of pytest-rerunfailures


def pytest_runtest_logreport(report):
    if report.outcome == "rerun":
        print(f"\nTRIED AGAIN {report.nodeid} ({report.when})\n{report.longreprtext}", flush=True)
