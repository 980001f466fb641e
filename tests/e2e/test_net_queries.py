# SPDX-License-Identifier: GPL-2.0-or-later
"""The shipped queries for net and tcp, on real connections with known bytes and numbers."""
import pytest

from exporter import Raw, run
from conftest import Collector, needs_bpf
from recordings import below_syscall_cancel

pytestmark = needs_bpf
TIMES, SIZE = 100, 1000

TRAFFIC = f"""
import socket, threading, time

def echo(server):
    peer, _ = server.accept()
    while data := peer.recv({SIZE}, socket.MSG_WAITALL):
        peer.sendall(data)

def tcp(host, family):
    server = socket.create_server((host, 0), family=family)
    thread = threading.Thread(target=echo, args=[server])
    thread.start()
    with socket.create_connection(server.getsockname()[:2]) as s:
        for i in range({TIMES}):
            s.sendall(b"x" * {SIZE})
            assert len(s.recv({SIZE}, socket.MSG_WAITALL)) == {SIZE}
    thread.join()

def udp(host, family):
    here, there = (socket.socket(family, socket.SOCK_DGRAM) for _ in "ab")
    there.bind((host, 0))
    here.connect(there.getsockname())
    for i in range({TIMES}):
        here.send(b"y" * {SIZE})
        data, peer = there.recvfrom({SIZE})
        there.sendto(data, peer)
        assert len(here.recv({SIZE})) == {SIZE}

def refused(host, family):
    with socket.socket(family) as bound:
        bound.bind((host, 0))
        for i in range(3):
            assert socket.socket(family).connect_ex(bound.getsockname()) != 0

for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    for traffic in tcp, udp, refused:
        traffic(host, family)

# The second connection that is not accepted finds the queue full: its first packet is retransmitted after a second.
full = socket.socket()
full.bind(("127.0.0.1", 0))
full.listen(0)
clients = [socket.socket() for _ in range(3)]
for s in clients:
    s.setblocking(False)
    s.connect_ex(full.getsockname())
time.sleep(1.5)
print(full.getsockname()[1])
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    r = Collector(tmp_path_factory.mktemp("net") / "recording", ["-p", "net:u,tcp:uk", "--", "/usr/bin/python3", "-c", TRAFFIC]).finish(timeout=120)
    assert r.returncode == 0 and r.one("SELECT count(*) FROM events WHERE kind = 'lost'") == 0, r.stderr
    return r


@pytest.fixture
def profile(recording, tmp_path):
    """profile(query) → [(names leaf first, the two values)]"""
    def go(query):
        out = tmp_path / "out.pb.gz"
        run("pprof", f"sql/pprof/{query}_for_command.sql", "-c", "python3", "-r", recording.path, "--output", out)
        return [(names, *values) for names, values in Raw(out).samples.items()]
    return go


@pytest.mark.parametrize("query, calls", [("net_ustack_tcp_bandwidth", {"send", "recv"}), ("net_ustack_udp_bandwidth", {"send", "recv", "sendto", "recvfrom"})])
def test_bandwidth_is_the_sum_of_the_messages(profile, query, calls):
    """Each message is sent, received, sent back and received, over IPv4 and IPv6. The leaf tells which."""
    rows = profile(query)
    assert (sum(n for _, n, _ in rows), sum(b for *_, b in rows)) == (8 * TIMES, 8 * TIMES * SIZE)
    by_call = {}
    for names, _, amount in rows:
        leaf = below_syscall_cancel(names)[0].strip("_").removeprefix("libc_")
        by_call[leaf] = by_call.get(leaf, 0) + amount
    assert by_call == dict.fromkeys(calls, 8 * TIMES * SIZE // len(calls))
    assert all(names[-1] in ("_start", "clone3", "__clone3") for names, *_ in rows)


def test_connects_have_their_callers(profile):
    """Two succeed, six are refused, three find the queue full or no accepting process."""
    rows = profile("tcp_connect_ustacks")
    assert sum(n for _, n, _ in rows) == 2 + 6 + 3
    assert all(below_syscall_cancel(names)[0].endswith("connect") and names[-1] == "_start" for names, *_ in rows)


def test_retransmits_have_their_peer(recording, profile):
    port = recording.stdout.split()[-1]
    rows = profile("tcp_retransmit_peers")
    assert {names[-1] for names, *_ in rows} == {f"127.0.0.1:{port}"} and sum(s for *_, s in rows) >= 2
    assert any("tcp_retransmit_timer" in names for names, *_ in rows)
