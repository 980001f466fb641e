#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""spans.py [JOBS] [THREADS] [LIBSPANS]: spans from Python, by way of libspans.so.

Threads share the jobs. Each job is a span "job" (id: its number, from 1 on; amount: 100 times that), with a span "rest",
which sleeps 3 ms, inside of it. Prints how often each was, its amount in all, and seconds by the program's own clock
inside of it: "job 50 127500 0.171".
"""
import contextlib
import contextvars
import ctypes
import itertools
import pathlib
import sys
import threading
import time


class Spans:
    """With .span(name, id, amount): what happens inside belongs to that span."""

    def __init__(self, library):
        # PyDLL keeps the interpreter lock: CDLL releases it at each probe, so other threads make this one wait.
        self.lib = ctypes.PyDLL(library)
        self.lib.spans_enter.argtypes = [ctypes.c_uint64] * 4 + [ctypes.c_char_p]
        self.lib.spans_exit.argtypes = self.lib.spans_close.argtypes = [ctypes.c_uint64]
        self.ids = itertools.count(1)
        self.current = contextvars.ContextVar("span", default=0)

    @contextlib.contextmanager
    def span(self, name, id=0, amount=0):
        if not self.lib.spans_listening():
            yield
            return
        parent, span_id = self.current.get(), next(self.ids)
        token = self.current.set(span_id)
        self.lib.spans_enter(span_id, parent, id, amount, name.encode())
        try:
            yield
        finally:
            self.lib.spans_exit(span_id)
            self.lib.spans_close(span_id)
            self.current.reset(token)


class Total:
    """Counts what happens inside of `with` blocks."""

    def __init__(self):
        self.lock, self.count, self.amount, self.seconds = threading.Lock(), 0, 0, 0.0

    @contextlib.contextmanager
    def add(self, amount):
        start = time.monotonic()
        yield
        with self.lock:
            self.count, self.amount, self.seconds = self.count + 1, self.amount + amount, self.seconds + time.monotonic() - start


def main():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    built = pathlib.Path(__file__).resolve().parent.parent / "build/examples/libspans.so"
    spans = Spans(sys.argv[3] if len(sys.argv) > 3 else built)
    totals = {"job": Total(), "rest": Total()}
    numbers = itertools.count(1)

    def work():
        while (number := next(numbers)) <= jobs:
            with spans.span("job", number, 100 * number), totals["job"].add(100 * number):
                with spans.span("rest"), totals["rest"].add(0):
                    time.sleep(0.003)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    for name, t in totals.items():
        print(f"{name} {t.count} {t.amount} {t.seconds:.6f}")


if __name__ == "__main__":
    main()
