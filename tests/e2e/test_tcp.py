# SPDX-License-Identifier: GPL-2.0-or-later
"""tcp: connects, accepts, retransmits and resets, and the processes that they belong to."""
import os
import socket
import struct
import subprocess
import time

import pytest

from conftest import BUILD, Collector, needs_bpf
from connections import CHECKS, check, script

pytestmark = needs_bpf


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """All cases in one recording."""
    args = ["-p", "tcp:uk", "--", "/bin/sh", "-c", script(BUILD / "tests")]
    r = Collector(tmp_path_factory.mktemp("tcp") / "recording", args).finish(timeout=120)
    assert r.returncode == 0, r.stderr
    return r


@pytest.mark.parametrize("family", "46")
@pytest.mark.parametrize("case", CHECKS)
def test_connections_have_their_rows(recording, case, family):
    check(recording, case, family)


# ---- owners of sockets --------------------------------------------------------------------------------------------------

CLIENT = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(s.getsockname()[1], flush=True)
try:
    s.recv(1)
except OSError as e:
    print(e.errno, flush=True)
sys.stdin.read()
"""


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def test_sockets_that_were_open_before_are_recorded(start, spawn):
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = spawn("python3", "-c", CLIENT, *server.getsockname(), stdin=subprocess.PIPE)
        peer, _ = server.accept()
    port = client.stdout.readline().strip()
    collector = start("-p", "tcp", "--pid", client.pid)
    reset(peer)  # by this process, which is not recorded
    client.stdout.readline()
    assert collector.stop().rows("SELECT kind, reason, tgid, command, local, ustack_id FROM events") == [
        ("tcp_reset", "received", client.pid, "python3", f"127.0.0.1:{port}", None)]


SERVER_THAT_WAITS = """
import socket
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
s.accept()
"""


def test_an_accept_that_waits_since_before_is_recorded(start, spawn):
    """A hook does not apply to calls that are already in the function."""
    program = spawn("python3", "-c", SERVER_THAT_WAITS)
    port = int(program.stdout.readline())
    began = time.monotonic_ns()
    collector = start("-p", "tcp", "--pid", program.pid)
    recording = time.monotonic_ns()
    time.sleep(0.1)
    lasted = time.monotonic_ns() - recording
    with socket.create_connection(("127.0.0.1", port)):
        program.wait()
        at_most = time.monotonic_ns() - began
    r = collector.stop()
    if "tcp__fexit" in r.stderr:
        pytest.skip("functions are hooked here")
    duration, = [d for d, in r.rows("SELECT duration FROM events WHERE kind = 'tcp_accept'")]
    assert lasted <= duration <= at_most


def test_packets_without_a_process_belong_to_none(start):
    """The kernel replies for a port without a listener (from Linux 6.10 on, it gives this reason)."""
    with socket.socket() as listener, socket.socket() as client:
        listener.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{listener.getsockname()[1]}"
        collector = start("-p", "tcp")
        assert client.connect_ex(listener.getsockname()) != 0
        r = collector.stop()
    port = r.one("SELECT local FROM events WHERE kind = 'tcp_connect' AND reason = 'refused' AND peer = ? AND tgid = ?", closed, os.getpid())
    sent = r.rows("SELECT tgid, pid, command, peer, ustack_id FROM events WHERE kind = 'tcp_reset' AND reason = 'sent' AND local = ?", closed)
    if not sent and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 10):
        pytest.skip("this kernel does not tell of resets without a socket")
    assert sent == [(0, 0, "", port, None)]


def test_a_connect_that_goes_on_at_the_end_is_pending(start):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as client, socket.socket() as other:
        client.connect(full.getsockname())
        collector = start("-p", "tcp", "--pid", os.getpid())
        other.setblocking(False)
        other.connect_ex(full.getsockname())
        began = time.monotonic_ns()
        time.sleep(0.1)
        lasted = time.monotonic_ns() - began
        r = collector.stop()
        (reason, duration, peer, unwind), = r.rows("SELECT reason, duration, peer, unwind FROM events WHERE kind = 'tcp_connect'")
        assert (reason, peer, unwind) == ("pending", "127.0.0.1:%d" % full.getsockname()[1], "root") and duration >= lasted


# ---- a network that loses packets ------------------------------------------------------------------------------------


@pytest.fixture
def network():
    """network(command...) runs ip. It yields the names of its two ends, and there is a wire between them."""
    client, server = (f"stacks-{os.getpid()}-{end}" for end in ("client", "server"))

    def ip(*args):
        subprocess.run(["ip", *args], check=True)

    try:
        for end in (client, server):
            ip("netns", "add", end)
        ip("-n", client, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", server)
        for i, end in enumerate((client, server), start=1):
            ip("-n", end, "link", "set", "lo", "up")
            ip("-n", end, "link", "set", "wire", "up", "address", f"02:00:00:00:00:0{i}")
            ip("-n", end, "addr", "add", f"10.99.0.{i}/24", "dev", "wire")
            ip("-n", end, "neigh", "replace", f"10.99.0.{3 - i}", "lladdr", f"02:00:00:00:00:0{3 - i}", "dev", "wire", "nud", "permanent")
        yield client, server, ip
    finally:
        for end in (client, server):
            subprocess.run(["ip", "netns", "del", end], check=False)


def inside(netns, program, *args):
    return ["ip", "netns", "exec", netns, "python3", "-c", program, *map(str, args)]


SERVER = """
import socket, sys
s = socket.create_server(("10.99.0.2", 4711))
print("ready", flush=True)
c, _ = s.accept()
sys.stdin.read()
"""
# Until the connection is given up. Then the number and bytes of the kernel's retransmits.
SENDER = """
import socket, struct, sys
s = socket.create_connection(("10.99.0.2", 4711))
s.setsockopt(socket.IPPROTO_TCP, 18, 600)  # TCP_USER_TIMEOUT, ms
print(s.getsockname()[1], flush=True)
sys.stdin.readline()
s.send(bytes(1000))
try:
    s.recv(1)
except TimeoutError:
    pass
info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
print(*struct.unpack_from("<I", info, 100), *struct.unpack_from("<Q", info, 208), flush=True)
"""
BURNER = "while True: pass"


def test_retransmits_belong_to_the_sender(start, spawn, network):
    """A retransmit does not belong to the process that the timer interrupts. A filter for that process leaves it out."""
    client, server, ip = network
    listener = spawn(*inside(server, SERVER), stdin=subprocess.PIPE)
    assert listener.stdout.readline() == "ready\n"
    burners = [spawn("python3", "-c", BURNER) for _ in range(os.cpu_count())]
    sender = spawn(*inside(client, SENDER), stdin=subprocess.PIPE)
    port = int(sender.stdout.readline())
    of_all = start("-p", "tcp:uk")
    of_burners = start("-p", "tcp:uk", "--pid", ",".join(str(b.pid) for b in burners))
    ip("-n", server, "addr", "flush", "dev", "wire")  # from now on, no host answers
    sender.stdin.write("\n")
    sender.stdin.flush()
    times, size = map(int, sender.stdout.readline().split())
    r = of_all.stop()
    assert times >= 2 and size == times * 1000
    assert r.rows(
        "SELECT tgid, command, local, peer, count(*), sum(amount), count(reason), count(ustack_id), count(kstack_id) FROM events "
        "WHERE kind = 'tcp_retransmit' AND peer = '10.99.0.2:4711' GROUP BY ALL"
    ) == [(sender.pid, "python3", f"10.99.0.1:{port}", "10.99.0.2:4711", times, size, 0, 0, times)]
    for names, in r.rows("SELECT list_transform(kstack, lambda f: f.name) FROM stacks WHERE kind = 'tcp_retransmit' AND tgid = ?", sender.pid):
        assert not any("asm_exc" in name or name == "do_syscall_64" for name in names), names
    left = of_burners.stop()
    assert left.returncode == 0 and not list(left.path.glob("events-*.parquet"))


CONNECT = """
import socket
for _ in range(50):
    print(socket.socket().connect_ex(("10.99.0.3", 4711)), flush=True)
"""


def test_a_missing_host_is_unreachable(record, network):
    client, _, ip = network
    quick = "; ".join(f"echo {n} >/proc/sys/net/ipv4/neigh/wire/{what}" for what, n in (("retrans_time_ms", 10), ("mcast_solicit", 1)))
    ip("netns", "exec", client, "sh", "-c", quick)
    r = record("-p", "tcp:u", "--", *inside(client, CONNECT))
    # Each attempt, even if the interrupt that ended it was not seen: then the row comes from the return of connect().
    assert r.rows("SELECT kind, reason, command, peer, unwind, count(*) FROM events GROUP BY ALL") == [
        ("tcp_connect", "unreachable", "python3", "10.99.0.3:4711", "root", 50)]
