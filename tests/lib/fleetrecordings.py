# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of a small fleet, for the questions of sql/fleet/."""
from recordings import PERIOD, SECOND, Batch, kernel, names

STATES = ("sleeping", "preempted", "disk_sleep")


def host(name, busy, build):
    """`busy`: how often it did everything; `build`: the version of its program."""
    b = Batch()
    for i in range(20 * busy):
        work = names("deflate" if i % 3 else "inflate", "main", module="/usr/lib/libz.so.1")
        b.profile(i * PERIOD, work, host=name, command="web", buildid=bytes([build]) * 20, weight=1 + i % 2)
        b.profile(i * PERIOD + 5, names("read", "main"), kernel("copy", "sys_read") if i % 2 else None, host=name, command=f"db{busy % 2}",
                  tgid=101, pid=101)
        b.slice(i * SECOND, i * SECOND + SECOND // 3, STATES[i % 3], names("wait", "main"), host=name, command="web",
                runnable=1000 * i if i % 4 else None, gaps=7 if i % 5 == 0 else None)
        b.add("trace_close", i * SECOND, host=name, command="web", trace_name=f"req{i % 2}", duration=i * 1000 + busy, span_id=2**63 + i)
    return b.process(0, host=name)


def write_hosts(folder):
    """Five hosts; the last one started its program last, with a new version."""
    for n, name in enumerate("abcde"):
        batch = host(name, n + 1, n // 4)
        if n == 4:
            for row in batch.events:
                row["timestamp"] += 600 * SECOND
        batch.write(folder / name / "1")
    return folder
