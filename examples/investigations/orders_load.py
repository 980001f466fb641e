"""Starts PHP-FPM with two workers, and asks them for orders.php 100 times, one request after the other."""
import glob
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import time

SCRIPT = str(pathlib.Path(__file__).resolve().with_name("orders.php"))


def record(kind, content):
    """A record of FastCGI."""
    return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content


def request(path):
    pairs = b"".join(bytes([len(k), len(v)]) + (k + v).encode() for k, v in {"SCRIPT_FILENAME": SCRIPT, "REQUEST_METHOD": "GET"}.items())
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, pairs) + record(4, b"") + record(5, b""))
        while s.recv(4096):
            pass


with tempfile.TemporaryDirectory() as folder:
    path = folder + "/socket"
    config = pathlib.Path(folder, "conf")
    config.write_text(f"[global]\nerror_log={folder}/log\n[www]\nuser=root\nlisten={path}\npm=static\npm.max_children=2\n")
    fpm = subprocess.Popen([*glob.glob("/usr/sbin/php-fpm*")[:1], "-F", "-R", "-y", config], start_new_session=True)
    try:
        while not os.path.exists(path):
            time.sleep(0.01)
        for _ in range(100):
            request(path)
    finally:
        os.killpg(fpm.pid, signal.SIGTERM)
        fpm.wait()
