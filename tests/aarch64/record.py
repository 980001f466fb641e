#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: record.py PROGRAM >FILE
Runs an AArch64 program under qemu-aarch64 one instruction at a time. Before each instruction, writes the state and the open
calls. The calls are counted from the call and return instructions, not from call-frame information.

The first line is `top ADDRESS`, the address at which the stack ends. Then comes `map START END OFFSET` for each code
mapping, then one line per instruction: the changes since the previous line.
    pHEX        the program counter, if it did not advance by 4
    rN=HEX      a register: x19 to x30; 31 is the stack pointer
    wHEX=HEX    a stack word: address below the top, value
    +HEX        a call: its return address
    !HEX        a signal: the address that it interrupted (the address of its trampoline follows as a call)
    -           a return from either"""
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

STEPS_MAX = 20000
PC, SP, LR = 32, 31, 30
REGISTERS = range(19, 32)


class Stub:
    """The client of the gdb remote protocol that qemu serves."""

    def __init__(self, program):
        self.dir = tempfile.mkdtemp()
        path = os.path.join(self.dir, "gdb")
        self.process = subprocess.Popen(["qemu-aarch64", "-cpu", "max", "-g", path, program])
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.01)
        self.bytes = b""

    def send(self, command):
        text = command.encode()
        self.socket.sendall(b"$%s#%02x" % (text, sum(text) & 255))

    def receive(self):
        while b"#" not in self.bytes or len(self.bytes) < self.bytes.index(b"#") + 3:
            more = self.socket.recv(65536)
            if not more:
                return None
            self.bytes += more
        start, end = self.bytes.index(b"$"), self.bytes.index(b"#")
        packet, self.bytes = self.bytes[start + 1:end], self.bytes[end + 3:]
        self.socket.sendall(b"+")
        return packet.decode()

    def ask(self, command):
        self.send(command)
        return self.receive()

    def registers(self):
        return list(struct.unpack("<33Q", bytes.fromhex(self.ask("g"))[:33 * 8]))

    def read(self, addr, sz):
        out = b""
        while len(out) < sz:
            answer = self.ask(f"m{addr + len(out):x},{min(sz - len(out), 1024):x}")
            if answer.startswith("E") and len(answer) == 3:
                raise OSError(f"nothing at {addr + len(out):#x}")
            out += bytes.fromhex(answer)
        return out

    def step(self):
        """The pending signal, 0 for none; None if the program has ended."""
        answer = self.ask("s")
        while answer and answer[0] in "ST" and int(answer[1:3], 16) != 5:  # stopped by a signal: deliver it
            answer = self.ask(f"vCont;S{answer[1:3]}")
        return answer if answer and answer[0] in "ST" else None


def code_maps(program):
    """The pages of the executable segments of a program that is not position-independent."""
    with open(program, "rb") as f:
        elf = f.read()
    phoff, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, flags, off, vaddr, _, filesz = struct.unpack_from("<IIQQQQ", elf, phoff + i * size)
        if kind == 1 and flags & 1:
            begin = vaddr & ~4095
            yield begin, (vaddr + filesz + 4095) & ~4095, off - (vaddr - begin)


def is_call(insn):  # BL; BLR, BLRAA …
    return insn & 0xfc000000 == 0x94000000 or insn & 0xfefff000 == 0xd63f0000


def is_return(insn):  # RET, RETAA, RETAB
    return insn & 0xfffffc1f == 0xd65f0000 or insn & 0xfffffbff == 0xd65f0bff


SVC, RT_SIGRETURN = 0xd4000001, 139
ADDRESS = (1 << 48) - 1  # a handler may already have signed its return address


class Recorder:
    def __init__(self, stub, maps):
        self.stub = stub
        self.maps = maps
        self.regs = [0] * 33
        self.words = {}
        self.top = 0
        self.frames = []  # (return address, belongs to a signal)

    def in_code(self, pc):
        return any(start <= pc < end for start, end, _ in self.maps)

    def registers(self, now):
        out = [] if now[PC] == self.regs[PC] + 4 else [f"p{now[PC]:x}"]
        out += [f"r{n}={now[n]:x}" for n in REGISTERS if now[n] != self.regs[n]]
        self.regs = now
        return out

    def stack(self, now):
        sp = now[SP] & ~7
        data = self.stub.read(sp, self.top - sp)
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        out = []
        for i, value in enumerate(words):
            below = self.top - sp - i * 8
            if self.words.get(below, 0) != value:
                self.words[below] = value
                out.append(f"w{below:x}={value:x}")
        return out

    def calls(self, insn, before, now):
        pc = now[PC]
        if is_call(insn):
            self.frames.append((before[PC] + 4, False))
            return [f"+{before[PC] + 4:x}"]
        if is_return(insn):
            address, _ = self.frames.pop()
            assert address == pc, f"returned to {pc:#x}, not to {address:#x}"
            return ["-"]
        if insn == SVC and before[8] == RT_SIGRETURN:
            assert self.frames.pop()[1]
            return ["-"]
        branches = insn >> 26 == 5 or insn >> 25 in (0x1a, 0x1b, 0x2a, 0x5a, 0x5b, 0x6b)
        # The emulator stops one instruction late after a system call. The programs have a nop there.
        if pc != before[PC] + (8 if insn == SVC else 4) and not branches:  # a handler
            at = before[PC] + (4 if insn == SVC else 0)
            trampoline = now[LR] & ADDRESS
            self.frames += [(at, True), (trampoline, False)]
            return [f"!{at:x}", f"+{trampoline:x}"]
        return []

    def run(self):
        now = self.stub.registers()
        self.top = now[SP] + 16
        print(f"top {self.top:x}")
        for start, end, off in self.maps:
            print(f"map {start:x} {end:x} {off:x}")
        words = self.registers(now) + self.stack(now)
        for _ in range(STEPS_MAX):
            print(*words)
            insn, = struct.unpack("<I", self.stub.read(now[PC], 4))
            if self.stub.step() is None:
                return
            before, now = now, self.stub.registers()
            words = self.calls(insn, before, now) + self.registers(now) + self.stack(now)


def main(program):
    stub = Stub(program)
    try:
        Recorder(stub, list(code_maps(program))).run()
    finally:
        stub.process.send_signal(signal.SIGKILL)
        stub.process.wait()


main(sys.argv[1])
