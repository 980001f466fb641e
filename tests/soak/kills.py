#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kills.py [COUNT [PROGRAMS]]: kills a recording collector COUNT times (100), and says what each kill lost. Fails if one lost
more than a second of events, or damaged a file."""
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from common import Service, check, newest_timestamp  # noqa: E402

LIMIT = 1.0  # seconds


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    programs = sys.argv[2] if len(sys.argv) > 2 else "profile:n:99,switch:n"
    losses, seed = [], random.randrange(1 << 32)
    random.seed(seed)
    print(f"{count} kills, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as tmp:
        c = Service(pathlib.Path(tmp), "-p", programs, "--batch", "500ms", "--poll", "100ms")
        load = subprocess.Popen(["sh", "-c", "while :; do :; sleep 0.01; done"])
        try:
            for _ in range(count):
                c.start()
                time.sleep(random.uniform(1, 2.5))
                at = c.kill()
                losses.append((at - max(c.started_ns, newest_timestamp(c.folder))) / 1e9)
        finally:
            load.kill()
            load.wait()
        files, rows, lost, wrong = check(c.folder)
    losses.sort()
    print(f"{files} batches, {rows} rows; lost events by reason: {lost or 'none'}")
    print(f"a kill lost {losses[len(losses) // 2]:.2f} s (median), at most {losses[-1]:.2f} s")
    for w in wrong:
        print("damaged:", w)
    return 1 if wrong or losses[-1] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
