# SPDX-License-Identifier: GPL-2.0-or-later
"""The connections of tests/tools/connections.c and the rows of `tcp` for them. Each check takes a recording and a Case."""
import dataclasses

MS = 1_000_000
SECOND = 1000 * MS
COLUMNS = """
SELECT kind, reason, local, peer, duration, tgid, amount,
       coalesce(list_transform(ustack, lambda f: f.name), []) AS functions, kstack_id IS NOT NULL AS kernel
FROM stacks WHERE command = ? ORDER BY timestamp"""


@dataclasses.dataclass
class Row:
    kind: str
    reason: str | None
    local: str | None
    peer: str | None
    duration: int
    tgid: int
    amount: int
    functions: list[str]
    kernel: bool


class Case:
    """The output of one run, and its rows."""

    def __init__(self, recording, name, family):
        line = next(x for x in recording.stdout.splitlines() if x.startswith(f"{name}{family} "))
        _, listener, client, self.pid, self.ns = [line.split()[0], *map(int, line.split()[1:])]
        host = "[::1]" if family == "6" else "127.0.0.1"
        self.listener, self.client = f"{host}:{listener}", f"{host}:{client}" if client else None
        self.rows = [Row(*row) for row in recording.rows(COLUMNS, name + family)]

    def of(self, kind, reason=None):
        return [r for r in self.rows if r.kind == kind and r.reason == reason]

    def connect(self, reason=None):
        """The connect row of the case, with the stack of the caller of connect."""
        row, = [r for r in self.rows if r.kind == "tcp_connect" and "try_to_connect" in r.functions]
        assert row.functions[-1] == "_start" and row.kernel
        assert row.reason == reason and row.peer == self.listener and row.duration <= self.ns
        assert self.client in (None, row.local)
        return row

    def accept(self, reason=None):
        row, = self.of("tcp_accept", reason)
        assert row.functions and row.local == self.listener
        return row

    def nothing_but(self, *kinds):
        assert sorted(r.kind for r in self.rows) == sorted(kinds), self.rows


def plain(case):
    case.connect()
    assert case.accept().peer == case.client
    case.nothing_but("tcp_connect", "tcp_accept")


def refused(case):
    connect = case.connect("refused")
    received, = case.of("tcp_reset", "received")
    assert (received.local, received.peer) == (connect.local, connect.peer)
    case.nothing_but("tcp_connect", "tcp_reset")


def waiting(case):
    row = case.accept()
    assert row.peer == case.client and 100 * MS <= row.duration <= case.ns


def again(case):
    case.nothing_but()


def impatient(case):
    row = case.accept("timeout")
    assert row.peer is None and row.duration >= 40 * MS  # 50 ms in timer ticks, which are late on a busy machine
    case.nothing_but("tcp_accept")


def in_progress(case):
    case.connect()


def given_up(case):
    assert case.connect("closed").duration >= 100 * MS


def sent_again(case, connect):
    """On a busy machine, packets of other connections are late, and are retransmitted too."""
    rows = [r for r in case.of("tcp_retransmit") if r.local == connect.local]
    assert rows
    for row in rows:  # a SYN has no bytes; the timer interrupt has no user stack
        assert (row.peer, row.amount, row.functions, row.kernel) == (case.listener, 0, [], True)


def timeout(case):
    sent_again(case, case.connect("timeout"))


def slow(case):
    connect = case.connect()
    assert connect.duration > 0.9 * SECOND
    sent_again(case, connect)


def no_port(case):
    case.connect("EADDRNOTAVAIL")


def linger(case):
    sent, = case.of("tcp_reset", "sent")
    received, = case.of("tcp_reset", "received")
    assert (sent.local, sent.peer) == (received.peer, received.local) == (case.client, case.listener)
    assert "reset" in sent.functions and not received.functions and received.kernel
    case.nothing_but("tcp_connect", "tcp_accept", "tcp_reset", "tcp_reset")


def gone(case):
    """With a filter, packets that no socket sent are left out."""
    received, = case.of("tcp_reset", "received")
    assert (received.local, received.peer, received.functions) == (case.client, case.listener, [])
    case.nothing_but("tcp_connect", "tcp_accept", "tcp_reset")


def handed_on(case):
    received, = case.of("tcp_reset", "received")
    assert received.tgid == case.pid and received.local == case.listener
    assert case.accept().tgid == case.connect().tgid != case.pid


CHECKS = {f.__name__: f for f in (plain, refused, waiting, again, impatient, in_progress, given_up, timeout, slow, no_port, linger,
                                  gone, handed_on)}


def script(tests):
    """A shell command that runs all cases."""
    return " ".join(f"{tests}/connections {name} {family} &" for name in CHECKS for family in "46") + " wait"


def check(recording, name, family):
    CHECKS[name](Case(recording, name, family))
