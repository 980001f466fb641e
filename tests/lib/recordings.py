# SPDX-License-Identifier: GPL-2.0-or-later
"""Handmade recordings, written with pyarrow, for tests of the readers."""
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
PERIOD = 10_101_010  # the time that a sample of kind profile stands for, at 99 Hz

FRAME = pa.struct(
    [
        pa.field("name", pa.string()),
        pa.field("address", pa.uint64(), nullable=False),
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("module", pa.string(), nullable=False),
        pa.field("build_id", pa.string()),
        pa.field("file_offset", pa.uint64()),
    ]
)
STACKS = pa.schema([pa.field("stack_id", pa.uint64(), nullable=False), pa.field("frames", pa.list_(FRAME), nullable=False)])

REQUIRED = {
    "timestamp": pa.int64(), "duration": pa.int64(), "kind": pa.string(), "cpu": pa.int32(), "tgid": pa.int32(),
    "pid": pa.int32(), "span_id": pa.uint64(), "parent_id": pa.uint64(), "id": pa.uint64(), "amount": pa.int64(),
    "command": pa.string(), "trace_name": pa.string(), "buildid": pa.binary(),
}
NULLABLE = {
    "thread": pa.string(), "ustack_id": pa.uint64(), "kstack_id": pa.uint64(), "unwind": pa.string(), "state": pa.string(),
    "runnable": pa.int64(), "gaps": pa.int64(), "target": pa.int32(), "device": pa.string(), "file": pa.string(),
    "fs": pa.string(), "local": pa.string(), "peer": pa.string(), "address": pa.uint64(), "cgroup": pa.string(),
    "host": pa.string(), "weight": pa.int32(), "lost_kind": pa.string(), "reason": pa.string(), "path": pa.string(),
    "probe": pa.string(), "args": pa.string(),
}
PROCESSES = pa.schema(
    [
        ("timestamp", pa.int64()), ("tgid", pa.int32()), ("start", pa.int64()), ("parent", pa.int32()), ("command_line", pa.string()),
        ("executable", pa.string()), ("cgroup", pa.string()), ("uid", pa.int32()), ("user", pa.string()), ("host", pa.string()),
        ("container_name", pa.string()),
    ]
)
EVENTS = pa.schema(
    [pa.field(n, t, nullable=False) for n, t in REQUIRED.items()] + [pa.field(n, t) for n, t in NULLABLE.items()]
)
BUILD_ID = bytes(range(20))  # of the main executable of every event


def frame(name, module="/usr/bin/prog", address=0x1000, offset=0x10, build_id="ab" * 20, file_offset=None):
    """Without file_offset: as in a file that has equal addresses and offsets. Kernel frames have none."""
    if module.startswith("["):
        build_id, file_offset = None, None
    elif file_offset is None:
        file_offset = address + offset
    return dict(name=name, address=address if name else 0, offset=offset if name else address + offset,
                module=module, build_id=build_id, file_offset=file_offset)


def below_syscall_cancel(functions):
    """The names of a stack, leaf first, without those that glibc 2.41 adds on top of each blocking call."""
    while functions and functions[0] in ("__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel"):
        functions = functions[1:]
    return functions


def names(*leaf_first, module="/usr/bin/prog"):
    """Frames with these names (None: no name), each at its own address."""
    return [frame(n, module, 0x1000 + 0x100 * (sum(map(ord, n or "")) % 4096)) for n in leaf_first]


def kernel(*leaf_first):
    return [frame(n, "[kernel]", 0xFFFF_FFFF_8100_0000 + 0x100 * (sum(map(ord, n)) % 4096)) for n in leaf_first]


def event(kind, at=0, **fields):
    """`at`: nanoseconds after START."""
    row = dict(timestamp=START + at, duration=0, kind=kind, cpu=0, tgid=100, pid=100, span_id=0, parent_id=0, id=0,
               amount=0, command="prog", trace_name="", buildid=BUILD_ID, host="here", cgroup="/", weight=1)
    row.update(fields)
    return {**dict.fromkeys(NULLABLE), **row}


class Batch:
    """The rows of the files of one batch."""

    def __init__(self):
        self.events, self.stacks, self.processes = [], {}, []

    def stack(self, frames):
        if frames is None:
            return None
        key = tuple(tuple(f.items()) for f in frames)
        return self.stacks.setdefault(key, (hash(key) & (2**64 - 1), frames))[0]

    def profile(self, at, ustack=None, kstack=None, count=1, **fields):
        for i in range(count):
            self.add("profile", at + i, ustack, kstack, duration=PERIOD, **fields)
        return self

    def add(self, kind, at, ustack=None, kstack=None, **fields):
        if ustack is not None:
            fields.setdefault("unwind", "root")
        self.events.append(event(kind, at, ustack_id=self.stack(ustack), kstack_id=self.stack(kstack), **fields))
        return self

    def slice(self, begin, end, state, ustack=None, kstack=None, **fields):
        """One on-CPU slice of a thread."""
        return self.add("switch", end, ustack, kstack, duration=end - begin, state=state, **fields)

    def process(self, at, **fields):
        """What is known of a process at that time. A batch without any has no file of them, as in older recordings."""
        row = dict(timestamp=START + at, tgid=100, start=START, parent=1, command_line="prog -x", executable="/usr/bin/prog", cgroup="/", uid=0,
                   user="root", host="here", container_name=None)
        self.processes.append({**row, **fields})
        return self

    def write(self, folder, number=1, metadata={"stacks.schema_version": "1"}):
        """`metadata`: that of the collector."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        rows = sorted(self.events, key=lambda r: r["timestamp"])
        stacks = [{"stack_id": i, "frames": f} for i, f in self.stacks.values()]
        pq.write_table(pa.Table.from_pylist(stacks, STACKS), folder / f"stacktraces-{number:06d}.parquet", compression="zstd")
        pq.write_table(pa.Table.from_pylist(rows, EVENTS.with_metadata(metadata)), folder / f"events-{number:06d}.parquet", compression="zstd")
        if self.processes:
            pq.write_table(pa.Table.from_pylist(self.processes, PROCESSES), folder / f"processes-{number:06d}.parquet", compression="zstd")
        return folder
