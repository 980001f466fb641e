# SPDX-License-Identifier: GPL-2.0-or-later
"""exec: programs that start, processes that fork and exit."""
from conftest import BUILD, needs_bpf

pytestmark = needs_bpf


def test_every_short_lived_process_is_seen(record):
    r = record("-p", "exec:uk", "--", "/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; /bin/false; (exit 7); kill -9 $$",
               status=137)
    shell = r.one("SELECT tgid FROM events WHERE kind = 'fork' GROUP BY ALL ORDER BY count(*) DESC LIMIT 1")
    children = r.rows("SELECT target FROM events WHERE kind = 'fork' AND tgid = ?", shell)
    assert len(set(children)) == 7
    assert r.rows("SELECT command, count(*) FROM events WHERE kind = 'exec' GROUP BY ALL ORDER BY ALL") == [
        ("false", 1), ("sh", 1), ("true", 5)]
    assert r.rows("SELECT command, amount, count(*) FROM events WHERE kind = 'exit' GROUP BY ALL ORDER BY ALL") == [
        ("false", 1, 1), ("sh", 7, 1), ("sh", 137, 1), ("true", 0, 5)]
    # A process lives from its fork to its exit. The parent may be interrupted before it reports the fork.
    lives = r.rows("SELECT (x.duration - (x.timestamp - f.timestamp)) / 1e6 FROM events f JOIN events x ON f.kind = 'fork' "
                   "AND x.kind = 'exit' AND x.tgid = f.target ORDER BY 1")
    assert len(lives) == 7 and lives[0][0] > -1 and lives[0][0] < 5


def test_a_fork_has_the_stack_of_the_parent(record):
    r = record("-p", "exec:uk", "--", "/bin/sh", "-c", "/bin/true; /bin/true")
    for ustack, kstack, unwind in r.rows(
            "SELECT list_transform(ustack, lambda f: f.name), list_transform(kstack, lambda f: f.name), unwind FROM stacks "
            "WHERE kind = 'fork'"):
        assert unwind == "root" and ustack[0] in ("__vfork", "_Fork", "__libc_fork")
        assert kstack[0] == "kernel_clone"  # not the frames of the program that reads them


def test_a_process_of_many_threads_ends_once(record):
    """On kernels up to 6.15, where this is difficult, tests/vm does the same."""
    r = record("-p", "exec", "--", BUILD / "tests" / "threads_end", 50)
    assert r.rows("SELECT amount, count(*), count(DISTINCT tgid) FROM events WHERE kind = 'exit' GROUP BY ALL ORDER BY ALL") == [
        (0, 1, 1), (3, 50, 50)]
