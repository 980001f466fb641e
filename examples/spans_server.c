// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * spans_server [REQUESTS] [WORKERS]: a server over loopback, each worker with one request at a
 * time, and as many clients. Each request is a span "request" (id: its number, from 1 on; amount:
 * bytes of the answer, 1000 times the number), inside of it are the spans "query", which waits 2 ms
 * for a database, and "reply". Prints how often each was, its amount in all, and seconds by the
 * program's own clock inside of it: "request 100 5050000 0.251".
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stacks_tracing.h"

#define NOINLINE       __attribute__((noinline))
#define THREADS_MAX    64
#define BYTES_PER_UNIT 1000
#define QUERY_NS       2000000

enum phase { REQUEST, QUERY, REPLY, PHASE_CNT };
static const char *const phase_names[] = { "request", "query", "reply" };

struct total {
	uint64_t cnt, amount, ns;
};

struct worker {
	pthread_t thread;
	int listener;
	struct total totals[PHASE_CNT];
};

static struct sockaddr_in address = { .sin_family = AF_INET };
static uint64_t request_cnt, taken; /* by the clients */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void count(struct total *t, uint64_t amount, uint64_t start_ns)
{
	t->cnt++;
	t->amount += amount;
	t->ns += now_ns() - start_ns;
}

static void check(int ok, const char *what)
{
	if (!ok) {
		/* perror() is cold in glibc 2.41: GCC would cut the callers in two */
		fprintf(stderr, "%s: %m\n", what);
		exit(1);
	}
}

static NOINLINE void query(struct worker *w, uint64_t number)
{
	STACKS_SPAN("query", .id = number);
	uint64_t start_ns = now_ns();

	nanosleep(&(struct timespec){ .tv_nsec = QUERY_NS }, NULL);
	count(&w->totals[QUERY], 0, start_ns);
}

static NOINLINE void reply(struct worker *w, uint64_t number, int fd)
{
	STACKS_SPAN("reply", .id = number, .amount = number * BYTES_PER_UNIT);
	static const char bytes[BYTES_PER_UNIT];
	uint64_t start_ns = now_ns();

	for (uint64_t i = 0; i < number; i++)
		check(send(fd, bytes, sizeof(bytes), 0) == sizeof(bytes), "send");
	count(&w->totals[REPLY], number * BYTES_PER_UNIT, start_ns);
}

static NOINLINE void answer(struct worker *w, uint64_t number, int fd)
{
	STACKS_SPAN("request", .id = number, .amount = number * BYTES_PER_UNIT);
	uint64_t start_ns = now_ns();

	query(w, number);
	reply(w, number, fd);
	count(&w->totals[REQUEST], number * BYTES_PER_UNIT, start_ns);
}

/* One connection per request; the request 0 ends the worker. */
static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t number;

	do {
		int fd = accept(w->listener, NULL, NULL);

		check(fd >= 0, "accept");
		check(recv(fd, &number, sizeof(number), MSG_WAITALL) == sizeof(number), "recv");
		if (number)
			answer(w, number, fd);
		close(fd);
	} while (number);
	return NULL;
}

static void ask(uint64_t number)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char bytes[4096]; /* what is on the stack is in each snapshot of it */

	check(!connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	check(send(fd, &number, sizeof(number), 0) == sizeof(number), "send");
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
	close(fd);
}

static void *be_client(void *arg)
{
	uint64_t number;

	while ((number = __atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED)) <= request_cnt)
		ask(number);
	ask(0);
	return arg;
}

static int listen_on_loopback(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(!getsockname(fd, (struct sockaddr *)&address, &(socklen_t){ sizeof(address) }),
	      "getsockname");
	check(!listen(fd, THREADS_MAX), "listen");
	return fd;
}

static void print(const struct worker *workers, int cnt)
{
	for (int phase = 0; phase < PHASE_CNT; phase++) {
		struct total sum = { 0 };

		for (int i = 0; i < cnt; i++) {
			sum.cnt += workers[i].totals[phase].cnt;
			sum.amount += workers[i].totals[phase].amount;
			sum.ns += workers[i].totals[phase].ns;
		}
		printf("%s %lu %lu %.6f\n", phase_names[phase], sum.cnt, sum.amount,
		       (double)sum.ns / 1e9);
	}
}

int main(int argc, char **argv)
{
	int cnt = argc > 2 ? atoi(argv[2]) : 4, listener = listen_on_loopback();
	struct worker workers[THREADS_MAX] = { 0 };
	pthread_t clients[THREADS_MAX];

	request_cnt = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	if (cnt < 1 || cnt > THREADS_MAX)
		return 2;
	for (int i = 0; i < cnt; i++) {
		workers[i].listener = listener;
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		pthread_create(&clients[i], NULL, be_client, NULL);
	}
	for (int i = 0; i < cnt; i++) {
		pthread_join(clients[i], NULL);
		pthread_join(workers[i].thread, NULL);
	}
	print(workers, cnt);
	return 0;
}
