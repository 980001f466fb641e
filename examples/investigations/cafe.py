# SPDX-License-Identifier: GPL-2.0-or-later
"""A café's web service for gunicorn and Flask. /menu computes a page. /order takes the till, which one request at a time has while
it asks the bank. `cafe.py SECONDS` sends requests to port 8095."""

import sys
import threading
import time
import urllib.request

till = threading.Lock()


def format_menu():
    return "".join(f"<li>{n:05d}</li>" for n in range(3000))


def menu():
    return format_menu()


def ask_bank():
    time.sleep(0.02)  # an answer from another host


def order():
    with till:
        ask_bank()
    return "paid"


def request_pages(until):
    while time.time() < until:
        for page in "menu", "order":
            urllib.request.urlopen(f"http://127.0.0.1:8095/{page}").read()


if __name__ == "__main__":
    guests = [threading.Thread(target=request_pages, args=(time.time() + float(sys.argv[1]),)) for _ in range(4)]
    for guest in guests:
        guest.start()
else:
    from flask import Flask

    app = Flask(__name__)
    app.get("/menu")(menu)
    app.get("/order")(order)
