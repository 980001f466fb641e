#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""soak.py HOURS [--machine]: records for hours under a load that changes.

Two collectors run with the options of the service. The steady one is never touched: its memory must not grow by more than 5 %
over the last three quarters. The other one is killed at random, and its disk is full at times. With --machine, the clock is
changed and CPUs are unplugged, too: only for a machine that nothing else uses. At the end every file of both is read, and all
lost events are listed with their reasons."""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from common import BUILD, Service, check  # noqa: E402

QUIET = 40  # seconds; memory goes back within 30
DISK = 48 << 20
KNOWN = {"ring_full", "rate_limit", "state_full", "no_memory", "end_lost", "nested", "malformed"}  # docs/format.md
PYTHON = "x = 0\nwhile True:\n    x = sum(i * i for i in range(1000))\n"


def run_for(seconds, *argv, **options):
    """Runs the command again and again, until the time is over. Its low priority leaves the CPUs to the collectors and to others."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        p = subprocess.Popen(["nice", *map(str, argv)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        try:
            p.wait(left)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


LOADS = {
    "processes": lambda s, tmp: run_for(s, BUILD / "tests/storm", 20000, 0),
    "threads": lambda s, tmp: run_for(s, BUILD / "tests/storm", 0, 20000),
    "python": lambda s, tmp: run_for(s, "python3", "-c", PYTHON),
    "shell": lambda s, tmp: run_for(s, "sh", "-c", "for i in $(seq 500); do ls /proc/self >/dev/null; done"),
    "switches": lambda s, tmp: run_for(s, BUILD / "examples/pingpong", "tcp4", 20000),
    "disk": lambda s, tmp: run_for(s, "dd", "if=/dev/zero", f"of={tmp}/big", "bs=64k", "count=2000", "conv=fsync"),
}


class Soak:
    def __init__(self, tmp, machine):
        self.tmp, self.machine = tmp, machine
        self.steady = Service(self.folder("steady"), "--preset", "always-on", "--keep", "30m")
        self.victim = Service(self.folder("victim"), "--preset", "always-on", "--keep", "30m", "--batch", "1s")
        self.wrong, self.memory = [], []  # memory: (seconds, bytes, bytes in no part) in each quiet time
        self.kills = self.full = self.changes = 0
        self.begin = time.monotonic()

    def folder(self, name):
        folder = self.tmp / name
        folder.mkdir()
        if name == "victim":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", folder], check=True)
        return folder

    def say(self, text):
        print(f"{time.monotonic() - self.begin:7.0f} s  {text}", flush=True)

    def kill(self):
        self.victim.kill()
        self.victim.start()
        self.kills += 1

    def fill_disk(self):
        ballast = self.victim.folder.parent / "ballast"
        with open(ballast, "wb") as f:
            try:
                while True:
                    f.write(bytes(1 << 20))
            except OSError:
                pass
        time.sleep(15)
        ballast.unlink()
        self.full += 1
        if not self.victim.alive():  # nothing was left to remove: the service manager starts it again
            self.victim.start()

    def change_machine(self):
        if not self.machine:
            return
        for step in (3600, -3600):
            time.clock_settime(time.CLOCK_REALTIME, time.time() + step)
            time.sleep(3)
        cpu = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
        if cpu.exists():
            cpu.write_text("0")
            time.sleep(3)
            cpu.write_text("1")
        self.changes += 1

    def cycle(self, seconds):
        """One round of every load, with disturbances, and a quiet time at its end."""
        loads = random.sample(list(LOADS), len(LOADS))
        for name in loads:
            LOADS[name](seconds, self.tmp)
            disturb = random.choice([self.kill, self.kill, self.fill_disk, self.change_machine])
            disturb()
            if not self.steady.alive():
                self.wrong.append("the steady collector ended")
                self.steady.start()
        status = self.lowest_in_quiet_time()
        if status:
            memory = status["memory"]
            self.memory.append((time.monotonic() - self.begin, memory["anonymous"], memory["other"]))
            parts = ", ".join(f"{k} {v / 1e6:.1f}" for k, v in memory.items() if isinstance(v, int) and v >= 1e5 and k != "limit")
            self.say(f"{self.kills} kills, disk full {self.full} times; MB: {parts}; lost {status['lost']}, CPU {status['own_cpu_percent']} %")

    def lowest_in_quiet_time(self):
        """Waits. Returns the status with the least memory: programs of others that run for a moment do not count."""
        seen = []
        end = time.monotonic() + QUIET
        while time.monotonic() < end:
            time.sleep(1)
            seen.append(self.steady.report())
        return min(filter(None, seen), key=lambda s: s["memory"]["anonymous"], default=None)

    def judge_memory(self):
        """Compares the first and the last third of what was measured after the first quarter."""
        later = [m for m in self.memory if m[0] >= self.memory[-1][0] / 4]
        third = max(1, len(later) // 3)
        for column, name in ((1, "memory"), (2, "memory in no part of the status file")):
            first, last = (sorted(m[column] for m in part)[len(part) // 2] for part in (later[:third], later[-third:]))
            self.say(f"{name} after load: {first / 1e6:.1f} MB, at the end {last / 1e6:.1f} MB ({len(later)} measurements)")
            if last > first * 1.05 + (1 << 20):
                self.wrong.append(f"{name} grew by more than 5 %")

    def judge(self, service, name):
        status = service.stop()
        if status != 0:
            self.wrong.append(f"{name}: exit status {status}")
        files, rows, lost, wrong = check(service.folder)
        self.wrong += [f"{name}: {w}" for w in wrong]
        self.wrong += [f"{name}: lost events without a known reason: {r}" for r in lost if r.split(": ")[1] not in KNOWN]
        self.say(f"{name}: {files} batches, {rows} rows; lost events by reason: {lost or 'none'}")

    def run(self, hours):
        seconds = max(3, min(30, hours * 3600 / 60))
        self.steady.start()
        self.victim.start()
        try:
            while time.monotonic() - self.begin < hours * 3600:
                self.cycle(seconds)
            self.judge_memory()
            self.judge(self.steady, "steady")
            self.judge(self.victim, "victim")
        finally:
            for service in (self.steady, self.victim):
                if service.proc.poll() is None:
                    service.proc.kill()
                    service.proc.wait()
            subprocess.run(["umount", "-l", self.victim.folder.parent])
        return self.wrong


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("hours", type=float)
    p.add_argument("--machine", action="store_true")
    p.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = p.parse_args()
    random.seed(args.seed)
    print(f"soak for {args.hours} hours, seed {args.seed}, {os.cpu_count()} CPUs", flush=True)
    with tempfile.TemporaryDirectory() as tmp:
        wrong = Soak(pathlib.Path(tmp), args.machine).run(args.hours)
    for w in wrong:
        print("WRONG:", w)
    print("failed" if wrong else "passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
