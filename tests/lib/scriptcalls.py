# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the tests of runtimes: what is known of the calls of their programs."""


def write(folder, source, name):
    path = folder / name
    path.write_text(source)
    return path


def check_callers(program, callers, root, is_known=lambda call: True):
    """`program` has (calls, unwind, stack) of each sample, calls as (name, line), leaf first; `callers` each function's
    possible callers. Fails unless each caller is one of them by name, and 99 % of the stacks reach `root`. Returns those
    with another line."""
    assert len(program) > 200
    whole, inexact = 0, []
    for calls, status, stack in program:
        for callee, caller in zip(calls, calls[1:]):
            if callee[0] in callers and is_known(callee) and caller not in callers[callee[0]]:
                assert caller[0] in {name for name, _ in callers[callee[0]]}, shown(stack)
                inexact.append((callee, caller))
        whole += calls[-1][0] == root and status == "root"
    assert whole >= 0.99 * len(program), [shown(s) for c, u, s in program if c[-1][0] != root or u != "root"][:3]
    assert max(len(calls) for calls, *_ in program) > 300
    return inexact


def shown(stack):
    return "\n".join(f"{f['name']} {f['module']} {f['line']} {f['mark']}" for f in stack)


def stopped_stacks(start, program, runtime, cnt=1):
    """{tid: stack} of threads that sleep, of which `cnt` are in a process each. On a busy machine it can take longer than half
    a second to look into the processes, for which the collector waits before it records."""
    for _ in range(5):
        r = start("-p", "switch:u", "--pid", str(program.pid)).stop()
        stacks = dict(r.rows("SELECT pid, ustack FROM stacks WHERE kind = 'switch' AND ustack_id IS NOT NULL"))
        known = [s for s in stacks.values() if any(f["mark"] in (runtime, runtime + "_order") for f in s)]
        if len(known) >= cnt:
            break
    return stacks
