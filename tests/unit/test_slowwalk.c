// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stops programs after each instruction: in prologues, epilogues, PLT stubs, the dynamic linker,
 * vfork, signal trampolines, realigned frames, the vdso. Each stack is walked to its root, and
 * equals libdwfl's walk.
 */
#include "lib/test.h"

#include "lib/shell.h"
#include "lib/walks.h"

static const char source[] =
	"#include <setjmp.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
	"#include <string.h>\n#include <sys/wait.h>\n#include <time.h>\n#include <unistd.h>\n"
	"#define NI __attribute__((noinline))\n"
	"static jmp_buf env; static volatile int sink;\n"
	"static int by_value(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
	"static void handler(int s) { char t[40]; snprintf(t, 40, \"%d\", s); sink = t[0]; }\n"
	"NI int deep(int n, char *p) { char b[40 + n]; memset(b, n, 40 + n);\n"
	"	return n ? deep(n - 1, b) + b[3] : p[0]; }\n"
	"NI int aligned(int n) { _Alignas(64) double d[8]; memset(d, n, 64);\n"
	"	char *p = __builtin_alloca(n); memset(p, 1, n); struct timespec t;\n"
	"	clock_gettime(CLOCK_MONOTONIC, &t); return p[0] + (int)d[n & 7] + (int)t.tv_nsec; "
	"}\n"
	"NI void jump(void) { longjmp(env, 1); }\n"
	"int main(void) { int v[12]; double f = 3.5; signal(SIGUSR1, handler); raise(SIGSTOP);\n"
	"	for (;;) { for (int i = 0; i < 12; i++) v[i] = rand(); qsort(v, 12, 4, by_value);\n"
	"	sink = snprintf(NULL, 0, \"%d %f %s\", v[0], f, \"abc\"); raise(SIGUSR1);\n"
	"	sink = deep(5, \"x\") + aligned(100); free(malloc(200000));\n"
	"	if (!setjmp(env)) jump(); if (vfork() == 0) _exit(0); wait(NULL);\n"
	"	sink = strlen(getenv(\"PATH\")); } }\n";

static pid_t build_and_stop(const char *dir, const char *flags)
{
	char path[256];
	pid_t pid;
	FILE *f;
	int status;

	snprintf(path, sizeof(path), "%s/steps.c", dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	shell__run("gcc -O2 -fomit-frame-pointer -w %s -o %s/steps %s 2>&1", flags, dir, path);
	snprintf(path, sizeof(path), "%s/steps", dir);
	pid = live__start((const char *[]){ path, NULL }, true);
	do {
		ptrace(PTRACE_CONT, pid, 0, 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
	} while (WSTOPSIG(status) != SIGSTOP);
	return pid;
}

/* Executes one instruction, and delivers signals. */
static void step(pid_t pid, int *signal)
{
	int status;

	ptrace(PTRACE_SINGLESTEP, pid, 0, *signal);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	*signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

struct round {
	struct walks *w;
	uint64_t bottom[8]; /* pcs of the frames below main, outermost first: always the same */
	size_t bottom_cnt;
	int in_handler, in_vfork, in_getenv; /* instructions; getenv is the last call of a round */
};

static void find_bottom(struct round *r)
{
	const struct trace *t = r->w->fast;

	for (size_t i = t->cnt - 1; i && strcmp(walks__name(&t->frames[i]), "main") != 0; i--) {
		assert_in_range(r->bottom_cnt, 0, 7);
		r->bottom[r->bottom_cnt++] = t->frames[i].pc;
	}
	assert_in_range(r->bottom_cnt, 2, 8);
}

static void check_bottom(const struct round *r)
{
	const struct trace *t = r->w->fast;
	bool ok = t->status == UNWIND_ROOT && t->cnt > r->bottom_cnt;

	for (size_t i = 0; i < r->bottom_cnt && ok; i++)
		ok = t->frames[t->cnt - 1 - i].pc == r->bottom[i];
	if (!ok) {
		walks__print("not from main", t);
		fail();
	}
}

static void count(struct round *r)
{
	const struct trace *t = r->w->fast;
	const char *leaf = walks__name(&t->frames[0]);

	for (size_t i = 0; i < t->cnt; i++)
		r->in_handler += (t->frames[i].flags & FRAME_SIGNAL) != 0;
	r->in_vfork += strstr(leaf, "vfork") != NULL;
	r->in_getenv += strcmp(leaf, "getenv") == 0;
}

/* One round of main's loop. The stack's top never moves. */
static void check_round(pid_t pid)
{
	struct round r = { .w = walks__new(pid) };
	struct event *e = r.w->event;
	uint64_t top = 0;
	int signal = 0;

	for (int i = 0; i < 60000 && !r.in_getenv; i++) {
		live__capture(pid, e, top, EVENT_STACK_MAX);
		top = e->stack_addr + e->ustack_sz;
		if (!walks__agree(r.w))
			fail_msg("after %d instructions", i);
		if (i == 0)
			find_bottom(&r);
		check_bottom(&r);
		count(&r);
		step(pid, &signal);
	}
	assert_true(r.in_handler > 100);
	assert_true(r.in_vfork > 4);
	assert_true(r.in_getenv > 0);
	walks__free(r.w);
	live__kill(pid);
}

static void lazy_binding_is_walked(void **state)
{
	check_round(build_and_stop(*state, "-Wl,-z,lazy"));
}

static void static_programs_are_walked(void **state)
{
	check_round(build_and_stop(*state, "-static"));
}

static void static_pie_is_walked(void **state)
{
	check_round(build_and_stop(*state, "-static-pie -fPIE"));
}

static void other_code_models_are_walked(void **state)
{
	check_round(build_and_stop(*state, "-fcf-protection -mno-red-zone -O1 -fno-plt"));
}

/* Only .debug_frame, as Go and some assemblers write it; libc keeps its .eh_frame. */
static void debug_frame_is_used(void **state)
{
	check_round(build_and_stop(*state, "-g -fno-asynchronous-unwind-tables "
					   "-fno-unwind-tables -fno-exceptions"));
}

RUN_TESTS(test_with_folder(lazy_binding_is_walked), test_with_folder(static_programs_are_walked),
	  test_with_folder(static_pie_is_walked), test_with_folder(other_code_models_are_walked),
	  test_with_folder(debug_frame_is_used))
