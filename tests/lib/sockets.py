# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that send and receive over loopback, and their rows of `net`."""
import re

BULK = 300000  # of tests/tools/sockets.c
ROUNDS, SIZE = 300, 123  # of examples/pingpong.c
PROTOCOLS = ["tcp4", "tcp6", "udp4", "udp6"]
# {case: {(kind, reason): (rows, bytes)}}; None: any number of rows
CASES = {
    "peek": {("tcp_send", None): (1, 100), ("tcp_recv", None): (1, 100), ("udp_send", None): (1, 10), ("udp_recv", None): (1, 10)},
    "calls": {("tcp_send", None): (5, 291), ("tcp_recv", None): (5, 291)},
    "file": {("tcp_send", None): (None, BULK), ("tcp_recv", None): (1, BULK)},
    "splice": {("tcp_send", None): (None, 2 * BULK), ("tcp_recv", None): (None, 2 * BULK)},
    "again": {("tcp_send", None): (1, 5), ("tcp_recv", None): (1, 5)},
    "timeout": {("tcp_recv", "timeout"): (1, 0), ("udp_recv", "timeout"): (1, 0)},
    "interrupted": {("tcp_recv", "EINTR"): (1, 0)},
    "errors": {
        ("tcp_recv", "reset"): (1, 0), ("tcp_send", "EPIPE"): (1, 0),
        ("udp_send", None): (1, 10), ("udp_recv", "refused"): (1, 0), ("udp_send", "EMSGSIZE"): (1, 0),
    },
    "end": {("tcp_send", None): (1, 7), ("tcp_recv", None): (1, 7)},
    "empty": {("udp_send", None): (3, 0), ("udp_recv", None): (3, 0)},
    "many": {("udp_send", None): (5, 15), ("udp_recv", None): (5, 15)},
    "names": {("udp_send", None): (2, 3), ("udp_recv", None): (2, 3)},
    "mapped": {("udp_send", None): (2, 2), ("udp_recv", None): (2, 2)},
    "others": {},
    "unix": {("unix_send", None): (4, 130), ("unix_recv", None): (4, 130)},
    "error_queue": {("udp_send", None): (1, 10)},
    "compat": {("tcp_send", None): (1, 100), ("tcp_recv", None): (1, 100), ("udp_send", None): (1, 10), ("udp_recv", None): (1, 10)},
    "uring": {("tcp_send", None): (3, 300), ("tcp_recv", None): (3, 300)},
    "uring_worker": {("tcp_send", None): (3, 300), ("tcp_recv", None): (3, 300)},
}


def script(tests, examples):
    """A shell command that runs all programs."""
    games = [f"{examples}/pingpong {protocol} {ROUNDS} {SIZE}" for protocol in PROTOCOLS]
    return " && ".join(games + [f"{tests}/sockets {case} {family}" for case in CASES for family in "46"])


def said(recording, name):
    """The words of the line that one of the programs printed."""
    return next(line.split() for line in recording.stdout.splitlines() if line.startswith(name))


def by_functions(recording):
    """Whether kernel functions are hooked instead of tracepoints."""
    return "net__syscalls" not in recording.stderr


def check_pingpong(recording, protocol):
    """The rows of each side are its messages, with its own functions on the stack and the address of the other side."""
    host = "[::1]" if protocol.endswith("6") else "127.0.0.1"
    server = f"{host}:{said(recording, protocol)[2].rstrip(':')}"
    serve = "serve_stream" if protocol.startswith("tcp") else "serve_datagrams"
    rows = recording.rows(
        "SELECT kind, function, count(*), sum(amount), bool_and(unwind = 'root'), count(reason), "
        "list(DISTINCT local ORDER BY local), list(DISTINCT peer ORDER BY peer) FROM "
        "(SELECT *, list_filter(ustack, lambda f: f.name IN ('play', ?))[1].name AS function FROM stacks) "
        "WHERE local = ? OR peer = ? GROUP BY ALL ORDER BY ALL", serve, server, server)
    client = next(local for _, function, *_, (local,), _ in rows if function == "play")
    unknown = protocol.startswith("udp") and not by_functions(recording)  # the sender of a datagram
    assert client.startswith(host)
    assert rows == [
        (f"{protocol[:3]}_{kind}", function, ROUNDS, ROUNDS * SIZE, True, 0, [local], [peer])
        for kind in ("recv", "send")
        for function, local, peer in (
            ("play", client, server), (serve, server, None if kind == "recv" and unknown else client))
    ]


def check_case(recording, case, family):
    rows = recording.rows("SELECT kind, reason, count(*), sum(amount) FROM events WHERE command = ? GROUP BY ALL", case + family)
    found = {(kind, reason): (count, amount) for kind, reason, count, amount in rows}
    assert found.keys() == CASES[case].keys()
    for key, (count, amount) in CASES[case].items():
        assert found[key][1] == amount, key
        assert count in (None, found[key][0]), key


def check_names(recording, family):
    """The peer is the address that the program names. For a receive, it is known only if functions are hooked."""
    host = "[::1]" if family == "6" else "127.0.0.1"
    first, second = (f"{host}:{port}" for port in said(recording, f"names{family}")[1:])
    rows = recording.rows("SELECT DISTINCT kind, local, peer FROM events WHERE command = ? ORDER BY kind", f"names{family}")
    assert rows == [("udp_recv", second, first if by_functions(recording) else None), ("udp_send", first, second)]


def check_unix(recording, family):
    """The path is that of the socket or of its peer; both have a peer process, here the same."""
    path, pid = said(recording, f"unix{family}")[1:]
    rows = recording.rows("SELECT kind, local, peer, amount, target FROM events WHERE command = ? ORDER BY timestamp", f"unix{family}")
    assert rows == [("unix_send", None, path, 100, int(pid)), ("unix_recv", path, None, 100, int(pid))] + [
        (kind, None, None, 10, int(pid)) for _ in range(3) for kind in ("unix_send", "unix_recv")], rows


def check_kernel_stacks(recording, entry="do_syscall_64"):
    """Without the frames of the tracing itself."""
    stacks = recording.rows("SELECT DISTINCT list_transform(kstack, lambda f: f.name) FROM stacks WHERE command = 'pingpong'")
    for names, in stacks:
        assert re.match(r"_*(sock|inet6?|sys)_(send|recv)", names[0]) and entry in names, names
