# SPDX-License-Identifier: GPL-2.0-or-later
"""net: every byte that programs send and receive over loopback is counted once."""
import socket
import time

import pytest

from conftest import BUILD, EXAMPLES, Collector, needs_bpf
from sockets import CASES, PROTOCOLS, by_functions, check_case, check_kernel_stacks, check_names, check_pingpong, check_unix, said, script

pytestmark = needs_bpf


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """All programs in one recording."""
    args = ["-p", "net:uk", "--", "/bin/sh", "-c", script(BUILD / "tests", EXAMPLES)]
    r = Collector(tmp_path_factory.mktemp("net") / "recording", args).finish(timeout=120)
    assert r.returncode == 0, r.stderr
    return r


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows_are_messages(recording, protocol):
    check_pingpong(recording, protocol)


@pytest.mark.parametrize("family", "46")
@pytest.mark.parametrize("case", CASES)
def test_every_byte_counts_once(recording, case, family):
    if case.startswith("uring") and "no io_uring" in recording.stdout:
        pytest.skip("the kernel has no io_uring, or forbids it")
    check_case(recording, case, family)


def test_every_row_has_its_columns(recording):
    """Workers of io_uring do not come from a system call."""
    assert recording.one("SELECT count(*) FROM events WHERE (duration = 0) != (command IN ('uring_worker4', 'uring_worker6') AND ?)",
                         not by_functions(recording)) == 0
    assert recording.one("SELECT count(*) FROM events WHERE kind = 'lost' OR weight != 1 OR cgroup IS NULL") == 0


def test_kernel_stacks_begin_at_the_call(recording):
    check_kernel_stacks(recording)


@pytest.mark.parametrize("family", "46")
def test_sockets_that_are_not_connected_have_peers(recording, family):
    check_names(recording, family)


@pytest.mark.parametrize("family", "46")
def test_unix_sockets_have_a_path_and_a_peer(recording, family):
    check_unix(recording, family)


def test_ipv6_sockets_that_send_to_ipv4_addresses_show_ipv4(recording):
    _, port = said(recording, "mapped")
    assert recording.rows("SELECT DISTINCT peer FROM events WHERE kind = 'udp_send' AND command = 'mapped4'") == [(f"127.0.0.1:{port}",)]


def test_many_datagrams_in_one_call_go_to_many(recording):
    rows = recording.rows("SELECT peer, list(amount ORDER BY amount) FROM events "
                          "WHERE kind = 'udp_send' AND command = 'many4' GROUP BY ALL ORDER BY 2")
    assert [amounts for _, amounts in rows] == [[1, 3, 5], [2, 4]]


def test_a_time_out_lasted_as_long_as_it_did(recording):
    assert recording.one("SELECT min(duration) FROM events WHERE reason = 'timeout'") >= 50_000_000


def test_workers_of_io_uring_belong_to_the_process(recording):
    if "no io_uring" in recording.stdout:
        pytest.skip("the kernel has no io_uring, or forbids it")
    rows = recording.rows("SELECT DISTINCT starts_with(thread, 'iou-wrk-'), tgid < pid, ustack_id FROM events WHERE command = 'uring_worker4'")
    assert rows == [(True, True, None)]


RECEIVER = """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
for _ in range(2):
    begin = time.monotonic_ns()
    s.recv(10)
    print(time.monotonic_ns() - begin, flush=True)
"""


@pytest.fixture
def receiver(spawn):
    """(a process that receives twice, the socket that it receives from)"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = spawn("python3", "-c", RECEIVER, server.getsockname()[1])
        peer, _ = server.accept()
        with peer:
            assert program.stdout.readline() == "ready\n"
            yield program, peer


def test_duration_is_the_time_in_the_call(start, receiver):
    program, peer = receiver
    began = time.monotonic_ns()
    collector = start("-p", "net", "--pid", program.pid)
    recording = time.monotonic_ns()
    time.sleep(0.2)
    since_recording = time.monotonic_ns() - recording
    peer.send(b"first")
    program.stdout.readline()
    until_received = time.monotonic_ns() - began
    time.sleep(0.2)
    peer.send(b"second")
    measured = int(program.stdout.readline())
    r = collector.stop()
    rows = r.rows("SELECT amount, duration FROM events WHERE kind = 'tcp_recv' ORDER BY timestamp")
    if not by_functions(r):  # a hook does not apply to calls that are already in the function
        amount, duration = rows.pop(0)
        assert amount == 5 and since_recording <= duration <= until_received
    (amount, duration), = rows
    assert amount == 6 and 200_000_000 <= duration <= measured


def test_only_what_is_recorded(start, receiver):
    program, peer = receiver
    collector = start("-p", "net", "--pid", program.pid)
    peer.send(b"1")  # this process is not recorded
    program.stdout.readline()
    peer.send(b"2")
    program.stdout.readline()
    r = collector.stop()
    assert r.rows("SELECT DISTINCT kind, tgid, command FROM events") == [("tcp_recv", program.pid, "python3")]
