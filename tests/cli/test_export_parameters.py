# SPDX-License-Identifier: GPL-2.0-or-later
"""?command and ?buildid, and the predecessor's queries."""
import pytest

from exporter import CPU, SOURCE, Raw, build_id, query_profile, run
from recordings import PERIOD, Batch, kernel, names


@pytest.mark.parametrize("command", ["x' OR 1=1 --", "';DROP VIEW x--", "?command", "'", "%", "$command", "\\", 'a"b', "é"])
def test_a_parameter_is_never_sql(tmp_path, command):
    b = Batch().profile(1, names("mine"), command=command).profile(2, names("other"), command="other")
    rec = b.write(tmp_path / "r")
    run("pprof", CPU, "-c", command, "-r", rec, "--output", tmp_path / "p")
    assert Raw(tmp_path / "p").samples == {("mine",): (1, PERIOD)}


def test_injection_finds_nothing(rec):
    p = run("pprof", CPU, "-c", "x' OR 1=1", "-r", rec, status=1)
    assert "empty" in p.stderr


@pytest.mark.parametrize(
    "where",
    ["command = ?command", "command = '?command'", "command LIKE '%?command%'", "command || 'x' = '?commandx'",
     "command = '?command' -- it's ?buildid", "command = '?command' /* ?buildid ' */", "command = E'?command'",
     "command = $$?command$$", "'it''s ' || command = 'it''s ?command'"],
)
def test_parameters_work_in_strings_and_expressions(rec, where):
    p = run("query", f"SELECT count(*) AS n FROM events WHERE {where}", "-c", "other", "-r", rec, "--format", "csv")
    assert p.stdout == "n\n1\n"


def test_build_id_parameter_is_the_build_id_of_the_program(rec, compile_c):
    prog = compile_c(SOURCE)
    p = run("query", "SELECT '?buildid' AS id, decode('?buildid', 'hex') = unhex(?buildid) AS same, octet_length(decode('?buildid', 'hex')) AS n", "-b", prog, "-r", rec, "--format", "csv")
    assert p.stdout == f"id,same,n\n{build_id(prog)},true,20\n"


def test_missing_parameters_are_named(rec):
    p = run("query", "SELECT '?command'", "-r", rec, status=2)
    assert "?command" in p.stderr and "-c" in p.stderr
    p = run("query", "SELECT '?buildid'", "-r", rec, status=2)
    assert "?buildid" in p.stderr and "-b" in p.stderr


def test_a_long_command_is_cut_as_the_kernel_cuts_it(tmp_path):
    rec = Batch().profile(1, names("f"), command="a-very-long-com").write(tmp_path / "r")
    p = run("pprof", CPU, "-c", "a-very-long-command-name", "-r", rec, "--output", tmp_path / "p")
    assert "15 bytes" in p.stderr and Raw(tmp_path / "p").samples


def test_predecessors_cpu_query_works(rec, tmp_path, compile_c):
    prog = compile_c(SOURCE)
    b = Batch().profile(1, names("f", "f", "g"), count=2, buildid=bytes.fromhex(build_id(prog))).profile(5, names("other"))
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, """select
    ustack,
    count(*) as count,
    sum(duration) as sampled_duration
from
    stacks
where
    kind='profile' and buildid = decode('?buildid', 'hex')
group by ustack
""", "-b", prog)
    assert raw.samples == {("f", "f", "g"): (2, 2 * PERIOD)}
    assert raw.types == ["count/count", "sampled_duration/nanoseconds[dflt]"]


PREDECESSORS_OFFCPU = """
with waits as (
    select ustack, kstack,
        (LEAD(timestamp - duration) OVER (PARTITION BY pid ORDER BY timestamp - duration)) - (timestamp) as offcpu
    from stacks
    where kind = 'switch' and command = '?command' and (not empty(ustack) or not empty(kstack))
)
select array_union(kstack, ustack) as stack, count(*), sum(offcpu) as offcpu_time
from waits
where (not empty(ustack) or not empty(kstack))
group by stack
"""


def test_predecessors_offcpu_query_works(tmp_path):
    b = Batch()
    wait, other = names("wait", "rec", "rec", "main"), names("other", "main")
    b.slice(0, 10, "sleeping", wait, kernel("schedule", "futex"))
    b.slice(110, 120, "sleeping", other)
    b.slice(150, 160, "sleeping", wait, kernel("schedule", "futex"))
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, PREDECESSORS_OFFCPU, "-c", "prog")
    assert raw.samples == {("schedule", "futex", "wait", "rec", "rec", "main"): (2, 100), ("other", "main"): (1, 30)}
    assert raw.types[0] == "count(*)/count"


def test_predecessors_growth_query_works(tmp_path):
    b = Batch()
    for at, amount in ((1, 100), (2, 350), (3, 200), (4, 250)):
        b.add("rss", at, names("malloc", "main"), amount=amount)
    raw = query_profile(b.write(tmp_path / "r"), tmp_path, """
with rss_growth as (
    select ustack, CAST(amount as BIGINT) - LAG(CAST(amount as BIGINT)) OVER (PARTITION BY tgid ORDER BY timestamp) as rss
    from stacks where kind = 'rss' and command = '?command' and not empty(ustack)
)
select ustack, count(*) as cnt, sum(rss) as total_growth from rss_growth where rss > 0 group by ustack order by total_growth desc
""", "-c", "prog")
    assert raw.samples == {("malloc", "main"): (2, 300)}
    assert raw.types[1] == "total_growth/bytes[dflt]"


def test_integers_divide_as_integers_in_pprof_only(rec, tmp_path):
    raw = query_profile(rec, tmp_path, "SELECT ustack, 7 / 2 AS n, sum(duration) / 1000 AS v FROM stacks WHERE ustack[1].name = 'hash' GROUP BY ustack")
    assert list(raw.samples.values()) == [(3, 3 * PERIOD // 1000)]
    assert run("query", "SELECT 7 / 2 AS n", "-r", rec, "--format", "csv").stdout == "n\n3.5\n"
