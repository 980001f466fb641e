# SPDX-License-Identifier: GPL-2.0-or-later
"""A memory cgroup for collectors. Tests import the fixture small_cgroup."""
import os
import pathlib
import re

import pytest

from conftest import wait_for


class SmallCgroup:
    """A memory cgroup for the BPF maps of a collector: a map belongs to the cgroup that its maker was in at that time."""

    def __init__(self, folder, limit, usage):
        self.folder, self.limit, self.usage = folder, folder / limit, folder / usage

    def enter(self):
        """Moves the calling process into it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def close(self, *pids):
        """Moves these processes, the only ones in it, to its parent, and lowers the limit to what cannot be reclaimed. From then on the
        kernel has no memory for the maps, except what these processes free of what they allocated before: less than 5 MB."""
        for pid in pids:
            (self.folder.parent / "cgroup.procs").write_text(str(pid))
        wait_for(lambda: self.lower(0) or self.lower(int(self.usage.read_text())))

    def lower(self, limit):
        """Version 2 accepts any limit. Version 1 reclaims what it can, and refuses a limit below what is left."""
        try:
            with open(self.limit, "r+") as f:
                f.write(str(limit))
        except OSError:
            return False
        return True


@pytest.fixture
def small_cgroup():
    """A SmallCgroup below our own cgroup, of version 1 or 2. Request it before the fixtures that start processes, so that these end
    first."""
    own = dict(re.findall(r"^\d+:(\w*):(.*)$", pathlib.Path("/proc/self/cgroup").read_text(), re.M))
    for root, name, *files in (("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
                               ("/sys/fs/cgroup", "", "memory.max", "memory.current")):
        folder = pathlib.Path(root + own.get(name, "/nowhere")) / f"small{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if (folder / files[0]).exists():  # the kernel has made it: the folder is a memory cgroup
            yield SmallCgroup(folder, *files)
            return wait_for(lambda: removed(folder))
        folder.rmdir()
    pytest.skip("no memory cgroup can be made")


def removed(folder):
    """Removes the cgroup. False while processes are in it."""
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
