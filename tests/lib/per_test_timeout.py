# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: a test that takes longer than $TEST_SECONDS (900) fails, and the place where it was is shown."""
import os
import signal

import pytest

SECONDS = int(os.environ.get("TEST_SECONDS", 900))


def give_up(*_):
    raise TimeoutError(f"the test took longer than {SECONDS} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
