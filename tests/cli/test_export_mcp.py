# SPDX-License-Identifier: GPL-2.0-or-later
"""mcp: a server that the protocol's own client understands, which only reads and answers bad input."""
import asyncio
import json
import os
import subprocess

import pytest

from conftest import EXPORT
from exporter import run
from recordings import Batch, names
from viewserver import MS, fill, rec  # noqa: F401

TOOLS = {"recordings", "summary", "top", "stacks", "diff", "sql", "explain"}


def ask(*messages, env=None):
    """The answers to lines that are sent; a message is an object or raw bytes."""
    lines = b"".join((m if isinstance(m, bytes) else json.dumps(m).encode()) + b"\n" for m in messages)
    p = subprocess.run([EXPORT, "mcp"], input=lines, capture_output=True, timeout=120, env=env)
    assert p.returncode == 0, p.stderr
    return [json.loads(line) for line in p.stdout.splitlines()]


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(name, **arguments):
    (answer,) = ask(request(1, "tools/call", name=name, arguments=arguments))
    return answer


def text(answer):
    assert not answer["result"]["isError"], answer
    return answer["result"]["content"][0]["text"]


def test_the_client_of_the_protocol_uses_every_tool(rec):
    mcp = pytest.importorskip("mcp", reason="run make setup-tests")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    calls = {
        "recordings": {}, "summary": {"recording": str(rec)}, "top": {"recording": str(rec), "rows": 3, "sort": "total"},
        "stacks": {"recording": str(rec), "command": "prog"}, "explain": {"recording": str(rec)},
        "diff": {"a": str(rec), "before": "..1s", "after": "1s..", "all": True}, "sql": {"recording": str(rec), "sql": "SELECT 40 + 2 AS n"},
    }
    expected = {"summary": "profile", "top": "CPU TIME BY FUNCTION", "stacks": "main;work;hot", "explain": "# Recording", "diff": "SELF BY FUNCTION",
                "sql": "42", "recordings": str(rec)}

    async def use():
        parameters = StdioServerParameters(command=str(EXPORT), args=["mcp"], env={**os.environ, "STACKS_DIR": str(rec.parent)})
        async with stdio_client(parameters) as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            listed = await session.list_tools()
            assert {tool.name for tool in listed.tools} == TOOLS == calls.keys()
            for name, arguments in calls.items():
                result = await session.call_tool(name, arguments)
                assert expected[name] in result.content[0].text, (name, result)

    asyncio.run(asyncio.wait_for(use(), 100))


def test_numbers_are_those_of_the_commands(rec):
    assert text(call("top", recording=str(rec), command="prog")) == run("top", "-r", rec, "-c", "prog").stdout
    assert text(call("explain", recording=str(rec), tid=101)) == run("explain", "-r", rec, "--tid", 101).stdout
    folded = run("folded", "cpu_stacks.sql", "-r", rec).stdout.splitlines()
    stacks = text(call("stacks", recording=str(rec), rows=1)).splitlines()
    assert stacks[0] == max(folded, key=lambda line: int(line.rsplit(" ", 1)[1])) and stacks[1].startswith(f"({len(folded) - 1} more")


def test_a_query_may_have_its_suffix(rec):
    assert text(call("stacks", recording=str(rec), query="cpu_stacks.sql")) == text(call("stacks", recording=str(rec)))


@pytest.mark.parametrize("sql", [
    "COPY (SELECT 1) TO '/tmp/mcp-was-here'", "SELECT 1) TO x; COPY (SELECT 1", "INSTALL httpfs", "SELECT 1; SELECT 2", "FROM read_csv('/etc/passwd')",
    "FROM read_text('/etc/passwd')", "FROM glob('/etc/*')", "ATTACH '/tmp/x.db'", "SET memory_limit = '1TB'", "CREATE TABLE t AS SELECT 1", "", "SELECT",
])
def test_sql_only_reads(rec, sql):
    answer = call("sql", recording=str(rec), sql=sql)
    assert answer["result"]["isError"] and not os.path.exists("/tmp/mcp-was-here")
    assert "root:" not in json.dumps(answer)


def test_answers_are_bounded(rec):
    rows = text(call("sql", recording=str(rec), sql="SELECT range AS n FROM range(5000)", rows=100000)).splitlines()
    assert len(rows) < 1010
    long = text(call("sql", recording=str(rec), sql="SELECT repeat('x', 90) || range AS n FROM range(5000)", rows=1000000))
    wide = text(call("sql", recording=str(rec), sql="SELECT repeat('x', 1000) AS n FROM range(1000)", rows=1000))
    assert len(long) < 110_000 and len(wide) < 110_000 and "left out" in wide


@pytest.mark.parametrize("message, code", [
    (b"{", -32700), (b"\xff\xfe", -32700), (b"[" * 100_000, -32700), (b'{"a":1,"a":2}', -32700), (b"[]", -32600), (b"1", -32600), (b"{}", -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'"' + b"x" * (1 << 21), -32600), (request(1, "nothing"), -32601),
    (request(1, "tools/call"), -32602), (request(1, "tools/call", name=5), -32602), (request(1, "tools/call", name="rm"), -32602),
    (request(1, "tools/call", name="top", arguments=[]), -32602), (request(1, "tools/call", name="top", arguments={"output": "/tmp/x"}), -32602),
    (request(1, "tools/call", name="top", arguments={"rows": "3"}), -32602), (request(1, "tools/call", name="sql", arguments={}), -32602),
    (request(1, "tools/call", name="stacks", arguments={"query": "../../x"}), -32602),
    (request(1, "tools/call", name="stacks", arguments={"query": "x.sql/../../y.sql"}), -32602),
], ids=lambda v: str(v)[:40])
def test_bad_messages_are_answered_and_the_server_goes_on(message, code):
    bad, good = ask(message, b"", request("next", "ping"))
    assert bad["error"]["code"] == code and good == {"jsonrpc": "2.0", "id": "next", "result": {}}


def test_notifications_and_answers_get_no_answer():
    assert ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}) == []


def test_a_failure_is_an_answer(tmp_path):
    answer = call("top", recording=str(tmp_path / "none"))
    assert answer["result"]["isError"] and "there is no recording" in answer["result"]["content"][0]["text"]
    answer = call("top", recording="--help")
    assert answer["result"]["isError"]


def test_the_version_that_the_client_wants_is_used():
    for asked, given in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        (answer,) = ask(request(0, "initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "t", "version": "1"}))
        assert answer["result"]["protocolVersion"] == given and answer["result"]["serverInfo"]["name"] == "stacksexport"


def test_hostile_names_are_text(tmp_path):
    evil = 'a"b\n;<script>\x1b[31m\\'
    rec = Batch().profile(1, names(evil, "main"), count=5, command=evil[:15]).write(tmp_path / "rec")
    for name in "top", "stacks", "explain":
        found = text(call(name, recording=str(rec)))
        assert "\x1b" not in found and "<script>" in found
