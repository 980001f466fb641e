# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector on other kernels: its rows there, and its messages for what a kernel lacks."""
import json
import re

import pytest

import connections
import sockets
from books import compare
from vm import ARCH, SYSCALL, UNIT_TESTS, Machine, attaches_to_functions, kernels, release

TOO_OLD = ["bullseye"]  # 5.10
# Only x86-64 lets a 64-bit program make 32-bit system calls.
PARTS = ["all", "errors", "signals", "threads"] + ["compat"] * (ARCH == "x86_64")
if ARCH != "x86_64":
    sockets.CASES.pop("compat", None)
SOURCES = ["profile:uk", "switch:uk", "exec:uk", "block:uk", "rss:uk", "vfs:uk", "fault:uk", "usdt:uk:/examples/spans_async",
           "wake:uk", "net:uk", "tcp:uk", "uprobe:uk:/examples/spans_async:main=s", "call:uk:/examples/spans_async:main=d+d",
           "span:uk:/examples/lock:lock_account..transfer", "kprobe:uk:vfs_read=-pl", "tracepoint:uk:sched:sched_process_exec"]


def sources(suite):
    """What its kernel has. For `net` it needs functions to attach to, or the tracepoints of Linux 6.3."""
    return [s for s in SOURCES if s != "net:uk" or attaches_to_functions(suite) or release(suite) >= (6, 3)]


CASES = """
# A kernel that is emulated finds samples slow, and would allow fewer of them.
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
record cpu -v -p profile:uk:99,switch:uk --duration 5s -- /examples/cpu 4
record sleeper -p switch:uk -- /examples/sleeper 2

/examples/lock 100 4 &
record system -p profile:uk:99,switch:uk --duration 3s
kill $!

/examples/cpu 100 &
sleep 1
kill -STOP $!
sleep 1
record stopped -p switch:uk --duration 1s --pid $!
kill -KILL $!

record memory -p rss:uk -- /examples/memory 16
record alloc -v -p alloc:uk:4K --stack-size 1M -- /examples/memory 4
for part in PARTS; do
	mkdir -p /out/books-$part/folder
	record vfs-$part -p vfs -- /tests/vfs_calls $part /out/books-$part/folder
done
record vfs-stacks -p vfs:uk -- /tests/vfs_calls all /tmp
record fault -p fault:u:0 -- /examples/memory 4
record wake -p wake:uk -- /examples/lock 2 4
record ends -p exec:n -- /tests/threads_end 100

record spans -p profile:u:999,usdt:u:/examples/spans_async -- /examples/spans_async 5 10
record places -p uprobe:/examples/spans_async:main=d,sdt:/examples/spans_async:stacks_tracing:enter,tracepoint:uk:sched:sched_process_exec -- /examples/spans_async 5 10

record calls -p 'call:/examples/lock:update_account,call:/examples/lock:main=d+d,kprobe:uk:vfs_read=-pl?arg3>0,switch:u' -- /examples/lock 1 2
record pairs -p 'span:/examples/lock:transfer..update_account,switch:u' -- /examples/lock 1 2

for test in UNIT_TESTS; do
	CMOCKA_MESSAGE_OUTPUT=TAP /tests/$test >/out/$test 2>&1
done
record largest -p $sources --stack-size 1M --budget 50% --duration 1s

mkdir /mnt
mount -t ext4 -o no_prefetch_block_bitmaps /dev/nvme0n1 /mnt
echo '+io +memory' >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/writer
cat >/disk <<'END'
cat /sys/block/nvme0n1/stat >/out/$1.before
dd if=/dev/zero of=/mnt/direct bs=1M count=4 oflag=direct conv=fsync
echo $$ >/sys/fs/cgroup/writer/cgroup.procs
dd if=/dev/zero of=/mnt/$1 bs=1M count=4
echo $$ >/sys/fs/cgroup/cgroup.procs
sync
dd if=/mnt/direct of=/dev/null bs=64k count=16 iflag=direct
rm /mnt/direct
fstrim /mnt
cat /sys/block/nvme0n1/stat >/out/$1.after
END
record disk -a -p block:k -- sh /disk disk
record cgroup -a -p block:k --cgroup writer -- sh /disk cgroup

ip link set lo up
record net -p net:uk -- sh -c 'SOCKETS'
record tcp -p tcp:uk -- sh -c 'CONNECTIONS'

/examples/cpu 1000 &
busy=$!
mkfifo /hold
/tests/hold_memory /mnt /examples/spans_async </hold >/held &
holder=$!
exec 3<>/hold
until grep -q holding /held; do sleep 1; done
sleep 1
record locked -p profile:uk:99,switch:uk,usdt:u:/examples/spans_async --duration 3s
cat /held >/out/held
exec 3>&-
kill $busy
wait $holder
""".replace("PARTS", " ".join(PARTS)).replace("UNIT_TESTS", " ".join(UNIT_TESTS)).replace("SOCKETS", sockets.script("/tests", "/examples")).replace("CONNECTIONS", connections.script("/tests"))
ENOUGH = 20 if ARCH == "x86_64" else 4  # rows in a few seconds; what is emulated is slow
INTERRUPTS = ("asm_",) if ARCH == "x86_64" else ("el0t_64_irq", "el1h_64_irq")  # how names of their entries begin
OFF_CPU = """
SELECT sum(off) / 1e9 FROM (
  SELECT *, lead(timestamp - duration) OVER (PARTITION BY pid ORDER BY timestamp, duration DESC) - timestamp AS off
  FROM stacks WHERE kind = 'switch'
) WHERE state = 'sleeping' AND command = 'sleeper' AND list_contains(list_transform(ustack, lambda f: f.name), ?)
"""


@pytest.fixture(scope="module", params=[k for k in kernels() if k not in TOO_OLD])
def machine(request, tmp_path_factory):
    cases = f"sources={','.join(sources(request.param))}\n" + CASES
    return Machine(tmp_path_factory.mktemp("vm") / "machine", request.param, cases)


def lost(recording, reason):
    return recording.one("SELECT coalesce(sum(amount), 0)::INT FROM events WHERE kind = 'lost' AND reason = ?", reason)


def skipped(recording):
    """The number of events that a kernel reports as missed. The newest kernel misses some because it preempts itself."""
    return lost(recording, "nested")


def recorded(machine, name, may_lose=("nested", "end_lost")):
    r = machine.recording(name)
    assert r.returncode == 0, machine.console() + machine.said(f"{name}.verifier")[-4000:]
    assert "refuses" not in r.stderr and "cannot" not in r.stderr
    assert r.one("SELECT count(*) FROM events") > 0
    assert {reason for reason, in r.rows("SELECT DISTINCT reason FROM events WHERE kind = 'lost'")} <= set(may_lose)
    assert lost(r, "end_lost") <= skipped(r)  # a skipped event may have been an end
    return r


def test_there_are_kernels_to_test():
    assert "bookworm" in kernels()


def test_profile_and_switches_of_a_command_are_complete(machine):
    r = recorded(machine, "cpu")
    assert {k for k, in r.rows("SELECT DISTINCT kind FROM events")} == {"profile", "switch"}
    profile = r.stacks("kind = 'profile' AND command = 'cpu'")
    assert sum(n for _, _, status, n in profile if status == "root") > 0.95 * sum(n for _, _, _, n in profile)
    # The dynamic loader takes a considerable time here, at the start and at the end.
    rooted = [(names, n) for names, _, status, n in profile if status == "root" and "main" in names]
    assert all(names[-1] == "_start" for names, _ in rooted)
    assert sum(n for names, n in rooted if names[names.index("main") - 1] == "work") > 5 * ENOUGH
    for function in ("render_line", "sort_some"):
        assert any(function in names for names, _ in rooted)


def test_the_kernel_copies_user_memory_without_a_lock(machine):
    """All of these kernels have the fix. A message about unreadable code would begin with "cannot", at -v."""
    assert "can lock up" not in recorded(machine, "cpu").stderr


def test_a_slice_begins_in_the_scheduler(machine):
    r = recorded(machine, "sleeper")
    leaves = r.rows("SELECT kstack[1].name, list_transform(kstack, lambda f: f.name) FROM stacks "
                    "WHERE kind = 'switch' AND state = 'sleeping' AND duration > 0")
    assert len(leaves) > 20
    for leaf, names in leaves:
        assert leaf in ("__schedule", "schedule"), names
        assert any("nanosleep" in (n or "") for n in names) or SYSCALL in names, names


def test_waits_have_their_stacks(machine):
    r = recorded(machine, "sleeper")
    words = r.stdout.split()
    for function, seconds in zip(words[0::2], map(float, words[1::2])):
        off = r.one(OFF_CPU, function)
        # Here the entry and exit of the system call take a considerable time.
        assert 0.7 * seconds <= off <= seconds, (function, off, r.stdout)
    assert r.one("SELECT count(*) FROM events WHERE kind = 'switch' AND runnable > 0") > 20


def test_the_whole_system_is_covered_from_start_to_end(machine):
    r = recorded(machine, "system")
    assert {k for k, in r.rows("SELECT DISTINCT kind FROM events")} == {"profile", "switch"}
    begin, end = r.rows("SELECT min(timestamp - duration), max(timestamp) FROM events WHERE kind = 'switch'")[0]
    assert 2.5e9 < end - begin < 4e9
    for command in ("lock", "init"):
        assert r.one("SELECT count(*) FROM events WHERE kind = 'switch' AND timestamp = ? AND duration = 0 AND command = ?",
                     begin, command) > 0
        assert r.one("SELECT count(*) FROM events WHERE state = 'waiting' AND timestamp = ? AND command = ?", end, command) > 0
    assert r.one("SELECT count(*) FROM events WHERE runnable IS NOT NULL AND command = 'lock'") > 20
    # Slices and gaps cover each thread: no switch was missed.
    assert r.one("SELECT count(*) FROM (SELECT lead(timestamp - duration) OVER (PARTITION BY pid ORDER BY timestamp, "
                 "duration DESC) - timestamp AS off FROM events WHERE kind = 'switch') WHERE off < 0") == 0
    stacks = r.stacks("command = 'lock' AND pid != tgid")
    assert sum(n for names, _, status, n in stacks if status == "root" and "update_account" in names) > 10


def test_a_thread_that_does_not_run_shows_with_its_stack(machine):
    r = recorded(machine, "stopped")
    rows = r.rows("SELECT state, duration, unwind, list_transform(ustack, lambda f: f.name), len(kstack) FROM stacks "
                  "ORDER BY timestamp")
    assert [row[:2] for row in rows] == [("stopped", 0), ("waiting", 0)]
    _, _, status, names, kernel_frames = rows[0]
    assert status == "root" and names[-1] == "_start"
    assert names[names.index("main") - 1] == "work"
    assert kernel_frames > 0


def test_a_locked_address_space_delays_no_recording(machine):
    """On kernels before 6.17, reading /proc/PID/maps takes the lock. The lock is held until the recording has ended."""
    r = machine.recording("locked")
    assert r.returncode == 0, machine.console()
    assert machine.said("held") == "holding\n", "the collector waited for the lock"
    begin, end = r.rows("SELECT min(timestamp - duration), max(timestamp) FROM events WHERE kind = 'switch'")[0]
    assert 2.5e9 < end - begin < 5e9
    stacks = r.stacks("kind = 'profile' AND command = 'cpu'")
    assert sum(n for _, _, status, n in stacks if status == "root") > 0.95 * sum(n for *_, n in stacks) > ENOUGH


def test_requests_to_a_disk_are_rows(machine):
    r = recorded(machine, "disk")
    before, after = ([int(n) for n in machine.said(f"disk.{when}").split()] for when in ("before", "after"))
    counted = [b - a for a, b in zip(before, after)]  # Documentation/block/stat.rst; an empty flush also counts as a write
    rows = {kind: (n, int(amount) // 512) for kind, n, amount in r.rows("SELECT kind, count(*), sum(amount) FROM events GROUP BY ALL")}
    alone = r.one("SELECT count(*) FROM events f WHERE kind = 'blk_flush' AND NOT EXISTS (FROM events w WHERE w.kind = 'blk_write' "
                  "AND w.pid = f.pid AND w.timestamp - w.duration = f.timestamp - f.duration)")
    if skipped(r):
        requests = counted[0] + counted[4] + counted[11]
        assert requests - skipped(r) <= sum(rows[kind][0] for kind in ("blk_read", "blk_write", "blk_discard")) + alone <= requests
        return
    assert rows["blk_read"] == (counted[0], counted[2])
    assert (rows["blk_write"][0] + alone, rows["blk_write"][1]) == (counted[4], counted[6])
    assert rows["blk_discard"] == (counted[11], counted[13])
    assert rows["blk_flush"][0] >= 2
    of_dd = "SELECT sum(amount) FROM events WHERE command = 'dd' AND reason IS NULL AND kind = ?"
    assert r.one(of_dd, "blk_write") == 4 << 20
    assert 1 << 20 <= r.one(of_dd, "blk_read") < 2 << 20  # those of the file system too
    assert r.one("SELECT sum(amount) FROM events WHERE reason = 'writeback' AND cgroup = '/writer' AND device = 'nvme0n1' "
                 "AND thread LIKE 'kworker/%'") == 4 << 20
    assert r.one("SELECT count(*) FROM stacks WHERE NOT list_contains(list_transform(kstack, lambda f: f.name), 'blk_mq_submit_bio')") == 0


def test_write_back_belongs_to_the_cgroup_that_dirtied(machine):
    r = recorded(machine, "cgroup")
    written = r.one("SELECT sum(amount) FROM events WHERE reason = 'writeback'")
    assert written == 4 << 20 or skipped(r) and written < 4 << 20
    assert r.rows("SELECT DISTINCT cgroup FROM events WHERE kind != 'lost'") == [("/writer",)]


@pytest.mark.parametrize("part", PARTS)
def test_rows_add_up_to_every_call(machine, part):
    r = recorded(machine, f"vfs-{part}")
    compare(r, machine.said(f"books-{part}/folder/report"), skipped(r))
    program = "vfs__fentry__write_end" if attaches_to_functions(machine.suite) else "vfs__syscalls__exit"
    assert re.search(rf"^{program} +[1-9]", r.stderr, re.M), r.stderr


def test_the_kernel_stack_of_a_call_is_complete(machine):
    stacks = recorded(machine, "vfs-stacks").rows(
        "SELECT list_transform(kstack, lambda f: f.name), list_transform(ustack, lambda f: f.name), unwind FROM stacks "
        "WHERE kind = 'vfs_write' AND path = '/tmp/writev'")
    assert len(stacks) == 7
    for kernel, user, unwind in stacks:
        assert SYSCALL in kernel, kernel
        assert kernel[0] in ("vfs_writev", "do_writev") or not attaches_to_functions(machine.suite), kernel
        assert unwind == "root" and user[-1] == "_start"


def test_sampled_allocations_have_the_right_sums(machine):
    """Some 1,000 samples have a deviation of 3 %."""
    r = recorded(machine, "alloc")
    live, unwind = r.rows("SELECT sum(amount), mode(unwind) FROM stacks a WHERE kind = 'alloc' AND list_contains(list_transform("
                               "ustack, lambda f: f.name), 'cache_row') AND NOT EXISTS (FROM events f WHERE f.kind = 'free' AND f.id = a.id)")[0]
    assert live == pytest.approx(4 << 20, rel=0.15) and unwind == "root"
    way = "session__call" if release(machine.suite) >= (6, 13) else "pair__return"
    assert re.search(rf"^alloc__{way} +[1-9]", r.stderr, re.M), r.stderr


def test_chosen_places_are_rows(machine):
    r = recorded(machine, "places")
    rows = r.rows("SELECT probe, args, ustack[1].name, unwind FROM stacks WHERE probe IS NOT NULL ORDER BY timestamp")
    assert ("sched:sched_process_exec", "/examples/spans_async") in {(probe, json.loads(args)["filename"]) for probe, args, *_ in rows if probe.startswith("sched")}
    assert [row for row in rows if row[0].endswith(":main")] == [("/examples/spans_async:main", '{"arg1": 3}', "main", "root")]
    enters = [json.loads(args) for probe, args, _, status in rows if probe.endswith(":enter") and status == "root"]
    assert len(enters) == 100 and {a["arg3"] for a in enters} == {1, 2, 3, 4, 5}


def test_calls_are_rows_from_entry_to_return(machine):
    """Where the kernel has replaced return addresses, stacks are whole. On AArch64 they are cut."""
    r = recorded(machine, "calls")
    rows = r.rows("SELECT ustack[1].name, args->>'result', reason, duration > 0, unwind FROM stacks WHERE kind = 'call'")
    assert len([row for row in rows if row[0] == "update_account"]) > ENOUGH
    assert [row[:4] for row in rows if row[0] == "main"] == [("main", "0", None, True)]
    if ARCH == "x86_64":
        assert {row[4] for row in rows} == {"root"}
        waits = r.stacks("kind = 'switch' AND state = 'sleeping'")
        assert any("update_account" in names and status == "root" and names[-1] != "[uprobes]" for names, _, status, _ in waits)
    kernel = r.rows("SELECT kstack[1].name, (args->>'arg3')::INT, args->>'arg1', unwind FROM stacks WHERE kind = 'kprobe'")
    assert kernel and all(name == "vfs_read" and size > 0 and file is None for name, size, file, _ in kernel), kernel


def test_chosen_spans_are_rows(machine):
    r = recorded(machine, "pairs")
    rows = dict(r.rows("SELECT split_part(probe, ':', -1), count(*) FROM events WHERE kind = 'trace_close' GROUP BY ALL"))
    assert list(rows) == ["transfer..update_account"] and rows["transfer..update_account"] > ENOUGH
    assert r.one("SELECT count(*) FROM events WHERE kind = 'trace_exit' AND trace_name = 'transfer'") > ENOUGH


def test_spans_are_rows(machine):
    r = recorded(machine, "spans")
    assert r.rows("SELECT kind, trace_name, count(*), count(DISTINCT span_id), sum(id)::INT, sum(amount)::INT FROM events "
                  "WHERE kind LIKE 'trace_%' GROUP BY ALL ORDER BY ALL") == [
        ("trace_close", "step", 50, 50, 150, 225), ("trace_close", "task", 5, 5, 15, 50),
        ("trace_exit", "step", 50, 50, 150, 225), ("trace_exit", "task", 50, 5, 150, 500),
    ]
    assert all(names[0] in ("task__step", "task__poll") and status == "root" for names, _, status, _ in r.stacks("kind LIKE 'trace_%'"))
    assert r.one("SELECT count(*) FROM events WHERE kind = 'profile' AND trace_name = 'step'") > 5


def test_sockets_have_their_rows(machine):
    if "net:uk" not in sources(machine.suite):
        r = machine.recording("net")
        assert r.returncode == 1 and "net: the kernel has no tracepoint sock_send_length (it came with Linux 6.3)" in r.stderr
        return
    r = recorded(machine, "net")
    assert sockets.by_functions(r)
    if skipped(r):
        messages = 2 * 2 * len(sockets.PROTOCOLS) * sockets.ROUNDS
        assert messages - skipped(r) <= r.one("SELECT count(*) FROM events WHERE command = 'pingpong'") <= messages
        return
    for protocol in sockets.PROTOCOLS:
        sockets.check_pingpong(r, protocol)
    for family in "46":
        sockets.check_names(r, family)
        sockets.check_unix(r, family)
        for case in sockets.CASES:
            sockets.check_case(r, case, family)
    sockets.check_kernel_stacks(r, SYSCALL)


def test_connections_have_their_rows(machine):
    r = recorded(machine, "tcp")
    assert ("tcp__fexit__accept" in r.stderr) == attaches_to_functions(machine.suite)
    if not skipped(r):
        for name in connections.CHECKS:
            for family in "46":
                connections.check(r, name, family)


def test_every_source_loads_with_the_largest_stack_size(machine):
    said = recorded(machine, "largest", may_lose=("nested", "end_lost", "ring_full")).stderr
    loaded = set(re.findall(r"^([a-z]+)__\w+ +\d", said, re.M))
    assert {source.split(":")[0] for source in sources(machine.suite)} <= loaded, said


@pytest.mark.parametrize("name", UNIT_TESTS)
def test_unit_tests_of_capture(machine, name):
    """User stacks of all kinds of threads, pages that are missing, bounce buffers, the kernel's own code."""
    said = machine.said(name)
    assert said.startswith("1..") and "not ok" not in said and "ok - tests" in said, said


def test_no_program_was_left_out_and_each_ran(machine):
    programs = set(re.findall(r"^(\w+__\w+) +[1-9]", recorded(machine, "cpu").stderr, re.M))
    assert {"profile__sample", "switch__switch", "switch__wakeup", "switch__newtask", "switch__rows_sleepable"} <= programs


def test_the_kernel_has_nothing_to_complain_about(machine):
    assert not re.search(r"\b(BUG|WARNING|Oops|Call Trace|INFO: task)\b", machine.said("dmesg")), machine.said("dmesg")


@pytest.mark.skipif("bullseye" not in kernels(), reason="the Debian archive has no kernel 5.10 any more")
def test_a_kernel_that_is_too_old_is_refused(tmp_path):
    machine = Machine(tmp_path / "machine", "bullseye", "record old -p profile,switch --duration 1s\n")
    r = machine.recording("old")
    assert r.returncode == 1
    assert r.stderr == ("collector: the kernel is too old: it has no BPF helper bpf_task_pt_regs, which came with Linux 5.15\n")
    assert not list(r.path.glob("*.parquet"))


def test_growth_belongs_to_the_code_that_touches(machine):
    """Independent of how the kernel counts pages, and of whether it can be read when a process ends."""
    r = recorded(machine, "memory")
    words = machine.said("memory.stdout").split()
    kb = dict(zip(words[0::2], map(int, words[1::2])))
    rows = r.rows("SELECT list_transform(ustack, lambda f: f.name), amount - lag(amount) OVER (ORDER BY timestamp), unwind "
                  "FROM stacks WHERE kind = 'rss' AND command = 'memory' ORDER BY timestamp")
    for function in ("cache_row", "share_table", "parse_batch"):
        growths = [max(growth or 0, 0) for names, growth, _ in rows if names and function in names]
        # The first row may include earlier changes: 6.1 counts them late.
        kb_grown = sum(growths) / 1024
        assert kb_grown - growths[0] / 1024 - 768 < kb[function] < kb_grown + 768, function
    assert {unwind for names, growth, unwind in rows if names and (growth or 0) > 0} == {"root"}
    last = r.one("SELECT arg_max(amount, timestamp) FROM events WHERE kind = 'rss' AND command = 'memory'")
    assert abs(last - kb["resident"] * 1024) < 512 * 1024


def test_each_page_faults_once(machine):
    r = recorded(machine, "fault")
    touched = r.one("SELECT count(DISTINCT address // 4096) FROM stacks WHERE kind = 'fault' AND unwind = 'root' "
                    "AND list_contains(list_transform(ustack, lambda f: f.name), 'share_table')")
    assert touched == 2 * 1024 * 1024 / 4096


def test_interrupts_are_told_from_threads(machine):
    """The counter that tells them is at another place in each kernel."""
    r = recorded(machine, "wake")
    rows = r.rows("SELECT tgid, pid, ustack_id, list_transform(ustack, lambda f: f.name), "
                  "list_transform(kstack, lambda f: f.name) FROM stacks WHERE kind = 'wake'")
    timers = [row for row in rows if row[0] == 0]
    unlocks = [row for row in rows if row[3] and "transfer" in row[3]]
    assert len(timers) > ENOUGH and len(unlocks) > ENOUGH
    entries = INTERRUPTS + ("handle_softirqs", "__do_softirq")
    for _, pid, ustack_id, _, kernel in timers:
        assert (pid, ustack_id) == (0, None)
        assert kernel[-1].startswith(entries), kernel
    assert not [kernel for tgid, *_, kernel in rows if tgid and any((name or "").startswith(entries) for name in kernel)]


def test_a_process_of_many_threads_ends_once(machine):
    """Several of its threads see that none is left. Up to 6.15 this really happens."""
    r = recorded(machine, "ends")
    ends = r.rows("SELECT amount, tgid FROM events WHERE kind = 'exit'")
    assert len(ends) == len(set(ends))
    many = sum(amount == 3 for amount, _ in ends)
    assert many <= 100 and len(ends) - many <= 1  # threads_end itself
    assert {amount for amount, _ in ends} <= {0, 3}
    assert len(ends) >= 101 - skipped(r)
