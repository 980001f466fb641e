# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures: a browser, and the page in it. A test fails if the page breaks its content security policy or logs an error.

Test files name it in pytest_plugins: a second conftest.py would take the name of the first."""

import atexit
import functools
import json
import os
import shutil

import pytest

from pages import Answers, Server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@functools.cache
def launch():
    """The browser of all tests."""
    reason = "the Python package playwright is not installed: run make setup-tests"
    p = pytest.importorskip("playwright.sync_api", reason=reason).sync_playwright().start()
    # root has no sandbox, and containers have little shared memory.
    args = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
    browser = p.chromium.launch(executable_path=CHROMIUM, args=args)
    atexit.register(lambda: (browser.close(), p.stop()))
    return browser


@functools.cache
def context(options):
    """Pages with the same options share a context, so that the browser reads the page's files once."""
    return launch().new_context(**json.loads(options))


@functools.cache
def serve():
    return Server()


@pytest.fixture
def server():
    serve().answers, serve().asked = Answers(), []
    return serve()


class View:
    """The page of one server."""

    def __init__(self, page, url):
        self.page, self.url, self.allowed = page, url, []

    def open(self, fragment=""):
        self.page.goto(self.url + (f"#{fragment}" if fragment else ""))
        self.page.wait_for_selector("#main > *")
        self.settle()
        return self.page

    def settle(self):
        """Until nothing is being loaded and a frame is drawn."""
        self.page.wait_for_selector("[aria-busy]", state="detached")
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def hash(self):
        return dict(part.split("=", 1) for part in self.page.evaluate("location.hash").lstrip("#").split("&") if "=" in part)

    def details(self):
        return self.page.locator("aside.details:visible").inner_text()


@pytest.fixture
def open_view():
    """open_view(url, **context) → a View. At the end of the test, no error may have come but those that are `allowed`."""
    if not CHROMIUM:
        pytest.skip("chromium is not installed: run make setup-tests")
    views, errors = [], []

    def go(url, **options):
        options.setdefault("viewport", dict(width=1280, height=800))
        page = context(json.dumps(options, sort_keys=True)).new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: errors.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                errors.append(f"{message.type}: {message.text}") if message.type in ("error", "warning") else None
            ),
        )
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        views.append(View(page, url))
        return views[-1]

    yield go
    for view in views:
        if not view.page.url.startswith("about:"):
            view.page.evaluate("localStorage.clear()")
        view.page.close()
    allowed = [text for view in views for text in view.allowed]
    assert not [error for error in errors if not any(text in error for text in allowed)], errors


@pytest.fixture
def view(open_view, server):
    return open_view(server.url)
