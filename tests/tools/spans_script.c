// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spans_script: does with the span probes what it is told, one line at a time, in threads that live
 * until they are told to end. Each line begins with the number of a thread, which is started when
 * it is first named:
 *
 *	T enter SPAN PARENT ID AMOUNT NAME
 *	T exit SPAN
 *	T exit_stack SPAN
 *	T close SPAN
 *	T flood FIRST CNT	enters and leaves that many spans with ids from FIRST on
 *	T drain FIRST CNT	closes them
 *	T end			the thread ends; its number may be used again
 *	T exec			the thread makes the process a new one of these, which reads on
 *
 * Answers each line with its thread id, and the times (ns) before and after it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../include/stacks_tracing.h"

#define THREAD_MAX 16

struct order {
	char verb[16], name[32];
	uint64_t args[4];
};

struct answer {
	uint64_t tid, before_ns, after_ns;
};

/* Two pipes: orders to the thread, answers from it. */
struct worker {
	pthread_t thread;
	int orders[2], answers[2];
	int running;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void obey(const struct order *o)
{
	const uint64_t *a = o->args;

	if (!strcmp(o->verb, "enter"))
		STACKS_ENTER(a[0], a[1], a[2], a[3], o->name);
	else if (!strcmp(o->verb, "exit"))
		STACKS_EXIT(a[0]);
	else if (!strcmp(o->verb, "exit_stack"))
		STACKS_EXIT_STACK(a[0]);
	else if (!strcmp(o->verb, "close"))
		STACKS_CLOSE(a[0]);
	for (uint64_t i = 0; i < a[1] && !strcmp(o->verb, "flood"); i++) {
		STACKS_ENTER(a[0] + i, 0, 0, 0, "flood");
		STACKS_EXIT(a[0] + i);
	}
	for (uint64_t i = 0; i < a[1] && !strcmp(o->verb, "drain"); i++)
		STACKS_CLOSE(a[0] + i);
}

static void print(const struct answer *a)
{
	printf("%lu %lu %lu\n", a->tid, a->before_ns, a->after_ns);
	fflush(stdout);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct answer answer = { .tid = (uint64_t)gettid() };
	struct order o;

	do {
		assert(read(w->orders[0], &o, sizeof(o)) == sizeof(o));
		answer.before_ns = now_ns();
		obey(&o);
		answer.after_ns = now_ns();
		if (!strcmp(o.verb, "exec")) {
			print(&answer);
			execl("/proc/self/exe", "spans_script", NULL);
		}
		assert(write(w->answers[1], &answer, sizeof(answer)) == sizeof(answer));
	} while (strcmp(o.verb, "end"));
	return NULL;
}

static void order(struct worker *w, const struct order *o)
{
	struct answer answer;

	if (!w->running) {
		assert(!pipe(w->orders) && !pipe(w->answers));
		assert(!pthread_create(&w->thread, NULL, work, w));
		w->running = 1;
	}
	assert(write(w->orders[1], o, sizeof(*o)) == sizeof(*o));
	assert(read(w->answers[0], &answer, sizeof(answer)) == sizeof(answer));
	print(&answer);
	if (strcmp(o->verb, "end"))
		return;
	pthread_join(w->thread, NULL);
	for (int i = 0; i < 2; i++) {
		close(w->orders[i]);
		close(w->answers[i]);
	}
	w->running = 0;
}

int main(void)
{
	static struct worker workers[THREAD_MAX];
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct order o = { 0 };
		unsigned n;

		assert(sscanf(line, "%u %15s %lu %lu %lu %lu %31[^\n]", &n, o.verb, &o.args[0],
			      &o.args[1], &o.args[2], &o.args[3], o.name) >= 2);
		assert(n < THREAD_MAX);
		order(&workers[n], &o);
	}
	return 0;
}
