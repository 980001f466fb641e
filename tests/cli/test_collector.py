# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line of the collector: what it refuses, and what it says."""
import ctypes
import os
import pathlib
import resource
import shutil
import struct
import subprocess

import duckdb
import pytest

from conftest import COLLECTOR, needs_bpf, wait_for


def run(*args, program=COLLECTOR, **kw):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=60, **kw)


@pytest.mark.parametrize(
    "args, named",
    [
        (["-p", "profil"], ["profil", "profile", "switch"]),
        (["-p", "profile:x"], ["profile", "'x'"]),
        (["-p", "profile:0"], ["profile:0"]),
        (["-p", "profile,profile"], ["profile", "twice"]),
        (["-p", ""], ["empty", "profile, switch"]),
        (["-p", "switch:10"], ["switch", "10"]),
        (["--duration", "5"], ["duration", "'5'", "5s"]),
        (["--duration", "5000000h"], ["duration", "'5000000h'"]),
        (["--poll", "2h"], ["--poll", "1h"]),
        (["--duration", "0s"], ["duration", "'0s'"]),
        (["--cgroup", ""], ["cgroup"]),
        (["--stack-size", "2M"], ["--stack-size is at most 1M"]),
        (["--stack-size", "100G"], ["--stack-size is at most 1M"]),
        (["--ring-size", "100G"], ["--ring-size is at most 1G"]),
        (["--ring-size", "99999999999999999999"], ["--ring-size is at most 1G"]),
        (["--ring-size", "1025M"], ["--ring-size is at most 1G"]),
        (["--ring-size", "64K"], ["--ring-size", "twice --stack-size"]),
        (["--stack-size", "64KX"], ["64KX"]),
        (["--pid", "12x"], ["12x"]),
        (["--pid", "0"], ["'0'"]),
        (["--pid", "1,,2"], ["pid", "''"]),
        (["--uid", "no such user"], ["no such user"]),
        (["-r", "0"], ["rows"]),
        (["--compression", "zip"], ["zip", "zstd(1)"]),
        (["a-command-that-is-too-long"], ["15 bytes", "a-command-that-'"]),
        (["--nonsense"], ["nonsense"]),
        (["-a"], ["--all"]),
        (["--keep-root"], ["--keep-root needs a command"]),
        (["--append"], ["--dir"]),
        (["--"], ["no command"]),
        (["sh", "--", "true"], ["cannot be combined"]),
        (["--keep", "101%"], ["--keep", "1% to 100%"]),
        (["--budget", "0%"], ["--budget", "1% to 100%"]),
        (["--budget", "5"], ["--budget", "1% to 100%"]),
        (["--preset", "always"], ["--preset", "always-on"]),
        (["--config", "/no/such/file"], ["/no/such/file: No such file"]),
        (["--config", "/dev/zero"], ["/dev/zero"]),
    ],
)
def test_wrong_calls_are_refused(args, named):
    p = run(*args)
    assert p.returncode == 2, p.stderr
    assert p.stdout == ""
    for part in named:
        assert part in p.stderr, p.stderr


@pytest.mark.parametrize(
    "text, said",
    [
        ("# a comment\n\nkeep = 2 days\n", ":3: --keep: '2 days' is not an age"),
        ("programs = profil", ":1: --programs: probe 'profil': unknown"),
        ("kepp = 2d\n", ":1: 'kepp' is not an option"),
        ("keep\n", ":1: 'keep' needs a value"),
        ("append = yes\n", ":1: 'append' takes no value"),
        ("config = /etc/passwd\n", ":1: 'config' cannot stand in a file"),
        ("quiet\n= 5\n", ":2: '' is not an option"),
        ("quiet\0\n", ": it is not text"),
        ("#" * 70000, ": File too large"),
    ],
)
def test_a_mistake_in_a_configuration_is_shown_by_its_line(tmp_path, text, said):
    (tmp_path / "c").write_text(text)
    p = run("--config", tmp_path / "c", "--list")
    assert (p.returncode, p.stdout) == (2, "")
    assert f"{tmp_path}/c{said}" in p.stderr


def test_a_right_configuration_is_accepted(tmp_path):
    lines = ["preset = always-on", " programs=profile:k:10,switch \t", "keep = 2d", "append", "status =", f"dir = {tmp_path}/r"]
    (tmp_path / "c").write_text("\r\n".join(lines))
    p = run("--config", tmp_path / "c", "--list")
    assert (p.returncode, p.stderr) == (0, "")


def test_a_configuration_may_be_absent_where_that_is_allowed(tmp_path):
    assert run("--config", f"-{tmp_path}/c", "--list").returncode == 0
    (tmp_path / "c").write_text("nonsense")
    assert run("--config", f"-{tmp_path}/c", "--list").returncode == 2


@needs_bpf
def test_the_last_of_options_from_command_line_preset_and_configuration_counts(tmp_path):
    (tmp_path / "c").write_text(f"dir = {tmp_path}/file\nstatus =\nduration = 1h")
    p = run("-d", tmp_path / "r", "--preset", "always-on", "--config", tmp_path / "c", "-p", "profile:n", "--duration", "500ms")
    assert p.returncode == 0 and f"recording to {tmp_path}/file" in p.stderr
    assert "profile__sample" in p.stderr and "switch__" not in p.stderr


def test_help_and_version_and_list():
    p = run("--help")
    assert p.returncode == 0 and p.stderr == ""
    for part in ("profile[:S][:HZ]", "switch[:S][:DUR]", "--duration=TIME", "Examples:", "stacksexport top"):
        assert part in p.stdout, p.stdout
    p = run("--version")
    assert p.returncode == 0 and p.stdout.startswith("collector ")
    p = run("--list")
    assert p.returncode == 0 and "profile" in p.stdout and "switch" in p.stdout and p.stderr == ""


def test_help_is_not_broken_anywhere():
    """argp continues an entry that is too long for a line in the first column of the next line."""
    text = run("--help").stdout
    listed = text.split("PROGRAMS is a comma list of:\n")[1].split("S selects the stacks")[0].splitlines()
    assert len(listed) > 11 and all(line.startswith("  ") for line in listed), text
    examples = text.split("Examples:\n")[1].split("Then look at the recording")[0].splitlines()
    assert all(line.startswith("  sudo collector") for line in examples), text
    assert max(map(len, text.splitlines())) <= 79


def test_help_needs_no_privilege(public):
    p = run("--help", program=public(COLLECTOR), user=65534, cwd="/") if os.geteuid() == 0 else run("--help")
    assert p.returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_list_names_missing_rights(public):
    p = run("--list", program=public(COLLECTOR), user=65534, cwd="/")
    assert p.returncode == 0 and "here: yes" in p.stdout
    assert "run as root or add CAP_BPF and CAP_PERFMON" in p.stderr


@needs_bpf
def test_verbose_says_more(tmp_path):
    p = run("-d", tmp_path / "r", "-v", "-p", "profile:u,net:k", "--status", "", "--duration", "500ms")
    assert "profile: with user stacks, no kernel stacks" in p.stderr
    assert "net: no user stacks, with kernel stacks, by way of " in p.stderr
    assert "stacks walked by tables" in p.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_without_privilege_says_what_is_missing(tmp_path, public):
    os.chmod(tmp_path, 0o777)
    p = run("-d", tmp_path / "r", "--duration", "1s", program=public(COLLECTOR), user=65534, cwd="/")
    assert p.returncode == 1
    assert p.stdout == ""
    assert "CAP_BPF" in p.stderr or "root" in p.stderr, p.stderr
    assert not (tmp_path / "r").exists()


@needs_bpf
@pytest.mark.parametrize("args", [["--list"], ["-p", "all"], ["-p", "profile"]])
def test_a_kernel_without_types_lacks_nothing_else(tmp_path, args):
    hide = 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$0" "$@"'
    p = run("-m", "sh", "-c", hide, COLLECTOR, "-d", tmp_path / "r", *args, "--", "true", program="unshare")
    assert p.returncode == 1
    assert "cannot read the kernel's types" in p.stderr
    assert "kernel has no" not in p.stdout + p.stderr and "here:" not in p.stdout, p.stdout + p.stderr


@needs_bpf
def test_a_container_without_the_machines_processes_is_refused(tmp_path):
    p = run("--pid", "--fork", "--mount-proc", COLLECTOR, "-d", tmp_path / "r", "--duration", "1s", program="unshare")
    assert p.returncode == 1
    assert "in a PID namespace of its own" in p.stderr and "--pid=host" in p.stderr, p.stderr
    assert not (tmp_path / "r").exists()


@needs_bpf
def test_types_that_do_not_fit_in_memory_are_reported(tmp_path):
    """libbpf's own search ends with ESRCH, whatever the reason."""
    p = run("--as=16000000", COLLECTOR, "--list", program="prlimit")
    assert p.returncode == 1
    assert "cannot read the kernel's types (/sys/kernel/btf/vmlinux): Cannot allocate memory; " in p.stderr, p.stderr
    assert "No such process" not in p.stderr


@needs_bpf
def test_status_of_the_command(tmp_path):
    for i, (argv, status) in enumerate(
        [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/no/such/program"], 127), (["/etc/passwd"], 126), (["true"], 0)]
    ):
        p = run("-d", tmp_path / str(i), "--", *argv)
        assert p.returncode == status, p.stderr
        assert p.stdout == ""


@needs_bpf
def test_the_commands_streams_are_its_own(tmp_path):
    p = run("-d", tmp_path / "r", "--quiet", "--", "sh", "-c", "read x; echo out $x; echo err >&2", input="in\n")
    assert p.stdout == "out in\n"
    assert "err\n" in p.stderr and "recording to" in p.stderr


@needs_bpf
def test_duration_ends_the_command(tmp_path):
    p = run("-d", tmp_path / "r", "--duration", "300ms", "--", "sleep", "100")
    assert p.returncode == 0, p.stderr


@needs_bpf
def test_command_runs_as_the_user_of_sudo(tmp_path):
    env = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}
    os.chmod(tmp_path, 0o755)
    p = run("-d", tmp_path / "r", "--", "id", "-u", env=env)
    assert p.stdout == "65534\n", p.stderr
    st = os.stat(tmp_path / "r")
    assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (65534, 65534, 0o750)
    for f in (tmp_path / "r").iterdir():
        st = f.stat()
        assert (st.st_uid, st.st_gid, st.st_mode & 0o7777) == (65534, 65534, 0o640)
    p = run("-d", tmp_path / "root", "--keep-root", "--", "id", "-u", env=env)
    assert p.stdout == "0\n"


@needs_bpf
def test_summary_counts_what_was_written(tmp_path):
    p = run("-d", tmp_path / "r", "-p", "switch:n", "--", "true")
    written = sum(f.stat().st_size for f in (tmp_path / "r").iterdir())
    assert f", {written / 1000:.0f} KB in {tmp_path}/r;" in p.stderr, p.stderr


@needs_bpf
def test_recordings_get_numbered_folders(tmp_path):
    env = {**os.environ, "STACKS_DIR": str(tmp_path / "all")}
    for n in (1, 2):
        p = run("--duration", "200ms", env=env)
        assert p.returncode == 0 and f"recording to {tmp_path}/all/{n}\n" in p.stderr, p.stderr
    (tmp_path / "all" / "10").mkdir()
    p = run("--duration", "200ms", env=env)
    assert f"recording to {tmp_path}/all/11\n" in p.stderr
    p = run("-d", tmp_path / "all" / "1", "--duration", "200ms")
    assert p.returncode == 1 and "--append" in p.stderr
    p = run("-d", tmp_path / "all" / "1", "--append", "--duration", "200ms")
    assert p.returncode == 0
    assert len(list((tmp_path / "all" / "1").glob("events-*.parquet"))) == 2
    p = run("-d", "/proc/nothing/here", "--duration", "200ms")
    assert p.returncode == 1 and "/proc/nothing" in p.stderr


@needs_bpf
def test_folders_of_others_are_refused(tmp_path):
    """The owner of a folder, and any user who may write to it, can replace the recording in it."""
    folder = tmp_path / "given"
    folder.mkdir()
    folder.chmod(0o777)
    p = run("-d", folder, "-p", "switch:n", "--duration", "200ms")
    assert p.returncode == 1 and "other users may write" in p.stderr and "--force" in p.stderr, p.stderr
    folder.chmod(0o755)
    os.chown(folder, 1234, 1234)
    p = run("-d", folder, "-p", "switch:n", "--duration", "200ms")
    assert p.returncode == 1 and "user 1234" in p.stderr and "--force" in p.stderr, p.stderr
    assert not list(folder.iterdir())
    p = run("-d", folder, "-p", "switch:n", "--duration", "200ms", env={**os.environ, "SUDO_UID": "1234", "SUDO_GID": "1234"})
    assert p.returncode == 0 and {f.stat().st_uid for f in folder.iterdir()} == {1234}
    p = run("-d", folder, "-p", "switch:n", "--duration", "200ms", "--append", "--force")
    assert p.returncode == 0, p.stderr


@needs_bpf
def test_an_empty_recording_is_removed(tmp_path):
    env = {**os.environ, "STACKS_DIR": str(tmp_path / "all")}
    p = run("--quiet", "--duration", "200ms", "nobody-s-name", env=env)
    assert p.returncode == 0 and "nothing was recorded" in p.stderr and f"{tmp_path}/all/1 is removed\n" in p.stderr
    absent = "collector: warning: no process is called 'nobody-s-name' now; to launch it write -- nobody-s-name\n"
    assert p.stderr.startswith(absent) and p.stderr.endswith(absent)
    assert list((tmp_path / "all").iterdir()) == []


@needs_bpf
def test_a_command_that_runs_is_not_reported_as_absent(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        p = run("--quiet", "-p", "switch:n", "-d", tmp_path / "r", "--duration", "200ms", "sleep", "nobody-s-name")
        sleeper.kill()
    assert p.returncode == 0 and "'sleep'" not in p.stderr and "'nobody-s-name'" in p.stderr


@pytest.mark.parametrize("command, status, why", [
    ("nobody-s-name", 127, "No such file or directory"), ("/nobody/s/name", 127, "No such file or directory"), ("/etc/passwd", 126, "Permission denied"),
])
def test_a_missing_command_leaves_no_recording(tmp_path, command, status, why):
    p = run("--", command, env={**os.environ, "STACKS_DIR": str(tmp_path / "all")})
    assert (p.returncode, p.stderr) == (status, f"collector: {command}: {why}\n")
    assert not (tmp_path / "all").exists()


@needs_bpf
@pytest.mark.parametrize("options", [[], ["-a"]])
def test_a_command_that_cannot_run_leaves_no_recording(tmp_path, options):
    """The interpreter of the script is missing: only execve() reports that."""
    program = tmp_path / "program"
    program.write_text("#!/nobody/s/interpreter\n")
    program.chmod(0o755)
    p = run(*options, "--", program, env={**os.environ, "STACKS_DIR": str(tmp_path / "all")})
    assert p.returncode == 127 and p.stderr.splitlines()[1:] == [f"collector: {program}: No such file or directory"], p.stderr
    assert list((tmp_path / "all").iterdir()) == []


@needs_bpf
def test_losses_are_reported_with_quiet(tmp_path):
    p = run("--quiet", "-d", tmp_path / "r", "-p", "switch:n", "--max-rate", "1", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done")
    lost = duckdb.connect().execute("SELECT sum(amount)::INT FROM read_parquet(?) WHERE kind = 'lost'", [str(tmp_path / "r" / "events-*.parquet")]).fetchone()[0]
    assert lost > 9 and f"warning: {lost} events were lost" in p.stderr


DEEP = """
#include <time.h>
static volatile char used;
__attribute__((noinline)) int deep(int n)
{
	char frame[1024];
	frame[n % 1024] = used;
	if (n)
		return deep(n - 1) + frame[n];
	for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
		used++;
	return used;
}
int main(void) { return deep(100) == 1; }
"""


@needs_bpf
def test_the_end_says_what_helps_against_stacks_that_were_cut(tmp_path, compile_c):
    program, advice = compile_c(DEEP), "are larger than what was copied"
    assert advice in run("-d", tmp_path / "1", "-p", "profile:u:499", "--stack-size", "4K", "--", program).stderr
    assert advice not in run("-d", tmp_path / "2", "-p", "profile:u:499", "--", program).stderr


@needs_bpf
def test_unknown_process_and_cgroup_are_refused(tmp_path):
    p = run("-d", tmp_path / "r", "--pid", 4194000, "--duration", "200ms")
    assert p.returncode == 1 and "4194000" in p.stderr
    p = run("-d", tmp_path / "r2", "--cgroup", "/no/such/cgroup", "--duration", "200ms")
    assert p.returncode == 1 and "/no/such/cgroup" in p.stderr
    assert not (tmp_path / "r").exists() and not (tmp_path / "r2").exists()


@needs_bpf
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_capabilities_serve_instead_of_root(tmp_path, public):
    os.chmod(tmp_path, 0o777)
    capabilities = "+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog"
    p = subprocess.run(
        ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}",
         public(COLLECTOR), "-d", tmp_path / "r", "-p", "profile:uk,switch:uk", "--duration", "500ms"],
        capture_output=True, text=True, timeout=60, cwd="/",
    )
    assert p.returncode == 0, p.stderr
    assert list((tmp_path / "r").glob("events-*.parquet"))


CAPABILITIES = {"KILL": 5, "SYS_PTRACE": 19, "DAC_READ_SEARCH": 2, "SYS_ADMIN": 21, "SYS_NICE": 23, "SYSLOG": 34, "PERFMON": 38, "BPF": 39,
                "CHECKPOINT_RESTORE": 40}
RECORDING = {"SYS_PTRACE", "DAC_READ_SEARCH", "SYS_NICE", "SYSLOG", "PERFMON", "BPF", "CHECKPOINT_RESTORE"}


def capabilities(*names):
    return sum(1 << CAPABILITIES[n] for n in names)


def status_of(path):
    return dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)


def threads(pid):
    return [status_of(t / "status") for t in pathlib.Path(f"/proc/{pid}/task").iterdir()]


def without_rights(action):
    """Runs action() in a process of this user without capabilities and returns its result."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        header, data = struct.pack("Ii", 0x20080522, 0), bytes(24)
        assert libc.capset(header, data) == 0
        os.write(write, str(action()).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    answer = os.read(read, 1000).decode()
    os.close(read)
    return answer


@needs_bpf
@pytest.mark.parametrize("sudo", [False, True])
def test_gives_up_what_recording_does_not_need(start, sudo, tmp_path):
    env = {**os.environ, "SUDO_UID": "1234", "SUDO_GID": "1234"} if sudo else None
    c = start("-a", "-p", "profile:uk,switch:uk", "--", "sleep", "100", env=env)
    allowed = capabilities("KILL", *RECORDING)
    # a thread that reads files of others gives up its rights itself, as the first thing that it does
    wait_for(lambda: all(int(t["CapPrm"], 16) & ~allowed == 0 for t in threads(c.pid)))
    all_ = threads(c.pid)
    assert len(all_) > 2
    (keeper,) = threads(c.proc.pid)
    assert int(keeper["CapPrm"], 16) == 0 and keeper["NoNewPrivs"] == "1"
    for t in all_:
        for which in "CapPrm", "CapEff":
            assert int(t[which], 16) & ~allowed == 0, (t["Name"], which, t[which])
        assert int(t["CapInh"], 16) == 0 and t["NoNewPrivs"] == "1"
    assert int(status_of(pathlib.Path(f"/proc/{c.pid}/status"))["CapEff"], 16) == allowed & int(status_of(pathlib.Path("/proc/self/status"))["CapPrm"], 16)

    def open_memory(pid):
        try:
            open(f"/proc/{pid}/mem", "rb").close()
            return "opened"
        except PermissionError:
            return "refused"
    for pid in c.pid, c.proc.pid:
        assert without_rights(lambda: open_memory(pid)) == "refused"
    recording = c.stop()
    assert recording.returncode in (0, 143), recording.stderr
    assert {f.stat().st_uid for f in recording.path.iterdir()} == {1234 if sudo else 0}
    assert recording.one("SELECT count(*) FROM events WHERE kind = 'switch'") > 0


@needs_bpf
def test_the_command_keeps_its_rights(tmp_path):
    p = run("-d", tmp_path / "r", "-p", "switch:n", "--", "cat", "/proc/self/status")
    said = dict(line.split(":\t", 1) for line in p.stdout.splitlines() if ":\t" in line)
    mine = status_of(pathlib.Path("/proc/self/status"))
    for field in "NoNewPrivs", "CapPrm", "CapEff", "CapBnd":
        assert said[field] == mine[field], field


@needs_bpf
def test_an_empty_recording_in_the_callers_folder_is_removed(tmp_path):
    os.chown(tmp_path, 1234, 1234)
    env = {**os.environ, "SUDO_UID": "1234", "SUDO_GID": "1234", "STACKS_DIR": str(tmp_path)}
    p = run("-p", "profile:u", "--duration", "200ms", "no-such-program", env=env)
    assert p.returncode == 0 and "removed" in p.stderr, p.stderr
    assert not list(tmp_path.iterdir())


@needs_bpf
def test_warns_of_a_missing_capability(tmp_path):
    def drop():
        libc = ctypes.CDLL(None)
        for name in "CHECKPOINT_RESTORE", "SYS_ADMIN":
            assert libc.prctl(24, CAPABILITIES[name], 0, 0, 0) == 0  # PR_CAPBSET_DROP
    p = subprocess.run([COLLECTOR, "-d", tmp_path / "r", "-p", "switch:n", "--duration", "200ms"], capture_output=True, text=True,
                       preexec_fn=drop, timeout=100)
    assert p.returncode == 0 and p.stderr.count("CAP_CHECKPOINT_RESTORE") == 1, p.stderr
    assert "CAP_CHECKPOINT_RESTORE" not in run("-d", tmp_path / "all", "-p", "switch:n", "--duration", "200ms").stderr


@needs_bpf
@pytest.mark.parametrize("files", [8, 20, 60])
def test_too_few_open_files_gives_advice(tmp_path, files):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    p = subprocess.run([COLLECTOR, "-d", tmp_path / "r", "-p", "switch:n", "--duration", "200ms"], capture_output=True, text=True,
                       preexec_fn=limit, timeout=100)
    assert p.returncode == 1 and f"at most {files} files" in p.stderr and "RLIMIT_NOFILE" in p.stderr, p.stderr


@needs_bpf
def test_the_status_file_and_the_cache_may_be_in_the_callers_folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 1234, 1234)
    env = {**os.environ, "SUDO_UID": "1234", "SUDO_GID": "1234"}
    p = run("-d", home / "r", "-p", "profile:u", "--status", home / "status", "--cache", home / "new" / "cache", "--duration", "2s", env=env)
    assert p.returncode == 0 and "cannot" not in p.stderr, p.stderr
    assert (home / "new" / "cache").is_dir() and not (home / "status").exists()
