# SPDX-License-Identifier: GPL-2.0-or-later
"""The native frames of interpreters are left out, unless --interpreter is given; sql/has_interpreter.sql, sql/without_interpreter.sql."""
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import EXPORT
from recordings import FRAME, Batch, names

MARKED = pa.schema([
    pa.field("stack_id", pa.uint64(), nullable=False),
    pa.field("frames", pa.list_(pa.struct([*FRAME, pa.field("line", pa.int32()), pa.field("mark", pa.string())])), nullable=False),
])
MARKS = {"sort": "python", "_PyEval_EvalFrameDefault": "interpreter"}
STACK = names("strcmp", "sort", "_PyEval_EvalFrameDefault", "main")


def write(folder, number, stack):
    """A batch that has frames with marks; without a stack, its stacktraces file has no rows."""
    batch = Batch().profile(number, stack)
    batch.write(folder, number)
    stacks = [{"stack_id": i, "frames": [{**f, "line": None, "mark": MARKS.get(f["name"])} for f in frames]}
              for i, frames in batch.stacks.values()]
    pq.write_table(pa.Table.from_pylist(stacks, MARKED), folder / f"stacktraces-{number:06d}.parquet")


def names_shown(folder, *args):
    sql = "SELECT string_agg(f.name, ' ') AS names FROM (SELECT unnest(ustack) AS f FROM stacks WHERE len(ustack) > 0)"
    p = subprocess.run([EXPORT, "query", sql, "-r", folder, "--format", "csv", *args], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    return p.stdout.split("\n")[1].strip('"').split()


@pytest.mark.parametrize("empty", [False, True])
def test_interpreter_frames_are_left_out_unless_asked_for(tmp_path, empty):
    write(tmp_path / "rec", 1, STACK)
    if empty:
        write(tmp_path / "rec", 2, None)
    assert names_shown(tmp_path / "rec") == ["strcmp", "sort", "main"]
    assert names_shown(tmp_path / "rec", "--interpreter") == ["strcmp", "sort", "_PyEval_EvalFrameDefault", "main"]


def test_a_recording_without_marks_is_shown_whole(tmp_path):
    Batch().profile(0, STACK).write(tmp_path / "rec")
    assert names_shown(tmp_path / "rec") == ["strcmp", "sort", "_PyEval_EvalFrameDefault", "main"]


def test_a_report_has_interpreter_frames_only_if_asked_for(tmp_path):
    write(tmp_path / "rec", 1, STACK)
    for args, expected in ((), False), (("--interpreter",), True):
        subprocess.run([EXPORT, "report", "-r", tmp_path / "rec", "-o", tmp_path / "r.html", *args], check=True, timeout=60)
        page = (tmp_path / "r.html").read_text()
        assert "strcmp" in page and ("_PyEval_EvalFrameDefault" in page) == expected
