# SPDX-License-Identifier: GPL-2.0-or-later
"""pprof: where the file goes, and when the viewer opens."""
import gzip
import os
import pathlib
import pty
import re
import shutil
import subprocess

from conftest import EXPORT, ROOT
from exporter import CPU, Raw, run


def test_files_are_numbered(rec, tmp_path):
    out = tmp_path / "a" / "b"
    out.mkdir(parents=True)
    for name in ("pprof-9.pb.gz", "pprof-x.pb.gz", "pprof-11.pb.gz.bak"):
        (out / name).write_text("")
    for n in (10, 11):
        p = run("pprof", CPU, "-c", "prog", "-r", rec, "-d", out)
        assert f"wrote {out}/pprof-{n}.pb.gz" in p.stderr
        assert Raw(out / f"pprof-{n}.pb.gz").samples
    assert len(list(out.iterdir())) == 5
    assert (out / "pprof-10.pb.gz").stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o22) or 0o22)


def test_the_default_folder_is_below_home(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, env={**os.environ, "HOME": str(tmp_path)})
    assert (tmp_path / "stacks_export_data" / "pprof-1.pb.gz").exists(), p.stderr


def test_a_missing_pprof_is_reported_with_advice(rec, tmp_path, public):
    """Neither in the PATH nor beside the build."""
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "-d", tmp_path, program=public(EXPORT), env={**os.environ, "PATH": "/nowhere"})
    pinned = re.search(r"^PPROF=(\S+)", (ROOT / "tools/setup").read_text(), re.M)[1]
    assert f"go install {pinned})" in p.stderr


def test_standard_output_gets_only_the_profile(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", "-", text=False, env={**os.environ, "TMPDIR": str(tmp_path)})
    (tmp_path / "p").write_bytes(p.stdout)
    assert Raw(tmp_path / "p").samples
    assert gzip.decompress(p.stdout)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p", "rec"]
    with open("/dev/full", "w") as full:
        p = subprocess.run([EXPORT, "pprof", CPU, "-c", "prog", "-r", rec, "--output", "-"], stdout=full, stderr=subprocess.PIPE, text=True, cwd="/")
    assert p.returncode == 1 and "No space left" in p.stderr


def test_a_pipe_is_written_to(rec, tmp_path):
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", "/dev/null")
    assert pathlib.Path("/dev/null").is_char_device()


def test_an_existing_file_is_replaced_only_when_all_went_well(rec, tmp_path):
    out = tmp_path / "p"
    out.write_text("old")
    out.chmod(0o640)
    run("pprof", CPU, "-c", "nobody", "-r", rec, "--output", out, status=1)
    assert out.read_text() == "old"
    run("pprof", CPU, "-c", "prog", "-r", rec, "--output", out)
    assert Raw(out).samples and out.stat().st_mode & 0o777 == 0o640
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p", "rec"]


def test_a_folder_that_cannot_be_written_is_named(rec, tmp_path):
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "-d", "/proc/nothing", status=1)
    assert "/proc/nothing" in p.stderr
    p = run("pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path, status=1)
    assert "directory" in p.stderr


def test_opens_pprof_on_a_terminal(rec, tmp_path):
    fake = tmp_path / "bin" / "pprof"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\n')
    fake.chmod(0o755)
    env = {**os.environ, "PATH": f"{fake.parent}:/usr/bin:/bin"}
    args = [EXPORT, "pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p"]
    run(*args[1:], env=env)
    assert not (tmp_path / "called").exists(), "no terminal, so no viewer"

    def on_terminal(*more):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([*args, *more], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd="/")
        assert p.wait(timeout=60) == 0
        os.close(theirs)
        os.close(ours)

    on_terminal("-n")
    assert not (tmp_path / "called").exists()
    on_terminal()
    assert (tmp_path / "called").read_text() == f"-http=: {tmp_path}/p\n"


def test_installed_it_finds_its_sql(rec, tmp_path):
    for d in ("bin", "lib/stacks", "share/stacks"):
        (tmp_path / d).mkdir(parents=True)
    shutil.copy(EXPORT, tmp_path / "bin" / "stacksexport")
    (tmp_path / "lib/stacks/libduckdb.so").symlink_to(ROOT / ".deps/duckdb/lib/libduckdb.so")
    shutil.copytree(ROOT / "sql", tmp_path / "share/stacks/sql")
    p = subprocess.run([tmp_path / "bin/stacksexport", "pprof", CPU, "-c", "prog", "-r", rec, "--output", tmp_path / "p"], capture_output=True, text=True, cwd="/")
    assert p.returncode == 0, p.stderr
    shutil.rmtree(tmp_path / "share")
    p = subprocess.run([tmp_path / "bin/stacksexport", "top", "-r", rec], capture_output=True, text=True, cwd="/")
    assert p.returncode == 1 and "share/stacks/sql/files.sql" in p.stderr
