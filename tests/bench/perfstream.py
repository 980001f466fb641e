# SPDX-License-Identifier: GPL-2.0-or-later
"""Lengthens a perf.data file: perfstream.py RECORDED SAMPLES >LONGER repeats its samples, each time with later
timestamps."""
import struct
import sys

HEADER, SAMPLE, ROUND = 104, 9, 68
# EXIT: samples of the process come again later. KSYMBOL, BPF_EVENT: perf 6.1 crashes on BPF programs that no longer exist.
DROPPED = (4, 17, 18)
TIME_BIT, BEFORE_TIME = 1 << 2, 1 << 16 | 1 << 0 | 1 << 1  # IDENTIFIER, IP, TID: 8 bytes each


def split(data, at, end, time_off):
    """The records other than samples; the samples with the round marks between them; the offset of the time in a sample."""
    first, block, times = bytearray(), bytearray(), []
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            times.append(len(block) + time_off)
        if kind in (SAMPLE, ROUND):
            block += data[at:at + size]
        elif kind not in DROPPED:
            first += data[at:at + size]
        at += size
    return first, block, times


def main(path, wanted):
    with open(path, "rb") as f:
        data = f.read()
    attrs, _, at, size = struct.unpack_from("<4Q", data, 24)
    sample_type, = struct.unpack_from("<Q", data, attrs + 24)
    assert sample_type & TIME_BIT
    first, block, times = split(data, at, at + size, 8 + 8 * (sample_type & BEFORE_TIME).bit_count())
    when = [struct.unpack_from("<Q", block, off)[0] for off in times]
    span, rounds = max(when) - min(when) + 1, -(-wanted // len(times))
    mark = struct.pack("<IHH", ROUND, 0, 8)
    head = bytearray(data[:at])
    struct.pack_into("<Q", head, 48, len(first) + len(mark) + rounds * (len(block) + len(mark)))
    head[72:HEADER] = bytes(HEADER - 72)  # without features
    out = sys.stdout.buffer
    out.write(head + first + mark)
    for i in range(rounds):
        for off, ns in zip(times, when):
            struct.pack_into("<Q", block, off, ns + i * span)
        out.write(block)
        out.write(mark)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
