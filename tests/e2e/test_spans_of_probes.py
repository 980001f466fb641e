# SPDX-License-Identifier: GPL-2.0-or-later
"""Spans between two places that the user chooses, keyed by the thread or by an argument."""
import collections

import pytest

from conftest import needs_bpf

pytestmark = needs_bpf

QUERIES = 6
PROGRAM = f"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define KEEP(x) __asm__ volatile("" ::"r"(x) : "memory")
__attribute__((noinline)) void query_start(const char *text) {{ KEEP(text); }}
__attribute__((noinline)) void query_done(int rows) {{ KEEP(rows); }}
__attribute__((noinline)) void request_begin(long id) {{ KEEP(id); }}
__attribute__((noinline)) void request_end(long id) {{ KEEP(id); }}
static void *answer(void *arg)
{{
	for (long i = 0; i < {QUERIES}; i++)
		request_end(i);
	return arg;
}}
int main(void)
{{
	char text[300];
	pthread_t thread;

	for (long i = 0; i < {QUERIES}; i++) {{
		snprintf(text, sizeof(text), "SELECT name, amount FROM accounts WHERE id = %ld", i);
		request_begin(i);
		query_start(text);
		usleep(5000);
		if (i != 2)
			query_done(i);
		usleep(1000);
	}}
	pthread_create(&thread, NULL, answer, NULL);
	pthread_join(thread, NULL);
	query_start(text);
	return 0;
}}
"""


def query(i):
    return f"SELECT name, amount FROM accounts WHERE id = {i}"


@pytest.fixture
def program(compile_c):
    return compile_c(PROGRAM, "-O1", "-pthread", name="queries")


def test_the_begin_names_the_events_of_its_thread(record, program):
    """The whole text, although an event has room for 16 bytes of it. A query that does not end has the next one's begin as its end."""
    r = record("-p", f"span:{program}:query_start=s..query_done,switch:u", "--", program)
    closed = r.rows("SELECT trace_name, duration, reason, span_id, parent_id, args->>'arg1' FROM events WHERE kind = 'trace_close' ORDER BY timestamp")
    assert [name for name, *_ in closed] == [query(i) for i in (*range(QUERIES), QUERIES - 1)]
    assert [reason for _, _, reason, *_ in closed] == ["end_unseen" if i in (2, QUERIES) else None for i in range(QUERIES + 1)]
    assert all(5_000_000 <= ns < 500_000_000 for _, ns, *_ in closed[:-1])
    assert len({id for _, _, _, id, *_ in closed}) == QUERIES + 1 and {parent for *_, parent, _ in closed} == {0}
    assert [text for *_, text in closed] == [name for name, *_ in closed]
    left = r.rows("SELECT trace_name FROM events WHERE kind = 'trace_exit' ORDER BY timestamp")
    assert [name for name, in left] == [query(i) for i in range(QUERIES) if i != 2]
    sleeps = collections.Counter(r.rows("SELECT trace_name FROM stacks WHERE kind = 'switch' AND state = 'sleeping' AND list_contains(list_transform(ustack, lambda f: f.name), 'usleep')"))
    assert all(sleeps[query(i),] >= 1 for i in range(QUERIES)) and sleeps[query(2),] >= 2 and sleeps["",] >= QUERIES - 1


def test_a_span_with_a_key_ends_on_another_thread(record, program):
    r = record("-p", f"span:n:{program}:request_begin=k..request_end=k,switch:u", "--", program)
    closed = r.rows("SELECT trace_name, duration, reason, probe FROM events WHERE kind = 'trace_close' ORDER BY timestamp")
    assert [(name, reason, probe) for name, _, reason, probe in closed] == [("request_begin", None, f"{program}:request_begin..request_end")] * QUERIES
    assert [ns for _, ns, *_ in closed] == sorted((ns for _, ns, *_ in closed), reverse=True)  # all end at one time
    assert r.one("SELECT count(*) FROM events WHERE kind = 'switch' AND span_id != 0") == 0  # no thread is in it


def test_lost_spans_are_counted_for_the_source_that_was_chosen(record, compile_c):
    """16,384 spans with a key may be open at a time."""
    program = compile_c("""
__attribute__((noinline)) void request_begin(long id) { __asm__ volatile("" ::"r"(id) : "memory"); }
__attribute__((noinline)) void request_end(long id) { __asm__ volatile("" ::"r"(id) : "memory"); }
int main(void)
{
	for (long i = 0; i < 17000; i++)
		request_begin(i);
	request_end(0);
}
""", "-O1", name="open")
    r = record("-p", f"span:n:{program}:request_begin=k..request_end=k", "--max-rate", "0", "--", program)
    assert r.rows("SELECT lost_kind, reason, sum(amount)::BIGINT FROM events WHERE kind = 'lost' GROUP BY ALL") == [("span", "state_full", 17000 - 16384)]
    assert "span: too many concurrent operations" in r.stderr


def test_tests_choose_begins_and_ends(record, program):
    r = record("-p", f"span:{program}:query_start=s?arg1=*..{program}:query_done=d?arg1>=4", "--", program)
    rows = r.rows("SELECT trace_name, reason FROM events WHERE kind = 'trace_close' ORDER BY timestamp")
    assert rows == [(query(i), None if i in (4, 5) else "end_unseen") for i in range(QUERIES)] + [(query(QUERIES - 1), "end_unseen")]


def test_spans_that_make_no_sense_are_named(start, program):
    for choice, why in {f"{program}:query_start": "expected BEGIN..END", f"{program}:request_begin=k..request_end": "need a key (k) each",
                        f"{program}:query_start..nowhere": "no symbol of such a function"}.items():
        r = start("-p", f"span:{choice}", "--duration", "1s", wait=False).finish()
        assert r.returncode == 1 and why in r.stderr
