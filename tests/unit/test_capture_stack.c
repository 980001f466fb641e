// SPDX-License-Identifier: GPL-2.0-or-later
/* bpf/ustack.bpf.h: the user stack in an event of a sleeping thread. It has the right bytes of the
 * right stack, from the stack pointer to its top. */
#include "lib/capture_scene.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#ifdef __x86_64__
#include <asm/prctl.h>
#endif

#define STACK_SZ (256 * 1024)

static volatile bool stop; /* never */

static __attribute__((noinline)) void sleep_deep(struct scene *scene, size_t left)
{
	volatile uint8_t pattern[4096];

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(left / 4096 + i);
	if (left > sizeof(pattern))
		sleep_deep(scene, left - sizeof(pattern));
	else
		while (!stop)
			pause();
	pattern[0] = 0; /* no tail call */
}

static void main_thread(void *arg)
{
	struct scene *scene = arg;

	scene->tid = gettid();
	sleep_deep(scene, scene->depth);
}

/* Waits until scene->tid sleeps, and takes its row of the start. */
static const struct event *take__asleep(struct take *t, const struct scene *scene)
{
	uint32_t pids[1];

	for (int i = 0; i < 1000 && !*(volatile const pid_t *)&scene->tid; i++)
		usleep(1000);
	assert_true(scene->tid);
	live__wait_state(scene->tid, 'S');
	pids[0] = (uint32_t)scene->tid;
	t->options.filter = (struct capture_filter){ .pids = pids, .pid_cnt = 1 };
	take__begin(t, "switch:u");
	take__end(t);
	assert_true(t->cnt >= 2);
	assert_true(t->events[0]->flags & EVENT_F_USER);
	assert_int_equal(t->events[0]->stack_addr,
			 t->events[0]->regs[EVENT_REG_SP] - EVENT_RED_ZONE);
	return t->events[0];
}

static void a_main_thread_is_copied_to_its_top(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { 0 };
	const struct event *e;
	pid_t pid;

	(void)state;
	scene->depth = 20000;
	pid = take__fork(main_thread, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(end_of(e), start_stack(pid));
	assert_true(e->ustack_sz > 20000);
	assert_false(e->flags & EVENT_F_TRUNCATED);
	assert_same_memory(pid, e, 0);
	take__free(&t);
	take__kill(pid);
}

static void a_deeper_stack_is_truncated(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options.stack_sz = 16384 };
	const struct event *e;
	pid_t pid;

	(void)state;
	scene->depth = 100000;
	pid = take__fork(main_thread, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(e->ustack_sz, 16384);
	assert_true(e->flags & EVENT_F_TRUNCATED);
	assert_same_memory(pid, e, 0);
	take__free(&t);
	take__kill(pid);
}

static void the_deepest_stack_is_copied(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { .options.stack_sz = EVENT_STACK_MAX };
	const struct event *e;
	pid_t pid;

	(void)state;
	scene->depth = 900000;
	pid = take__fork(main_thread, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(end_of(e), start_stack(pid));
	assert_true(e->ustack_sz > 900000);
	assert_same_memory(pid, e, 0);
	take__free(&t);
	take__kill(pid);
}

static void *sleep_in_thread(void *arg)
{
	struct scene *scene = arg;

	scene->top = (uint64_t)__builtin_thread_pointer(); /* glibc: the thread descriptor */
	scene->tid = gettid();
	sleep_deep(scene, scene->depth);
	return NULL;
}

static void thread(void *arg)
{
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, sleep_in_thread, arg), 0);
	pthread_join(t, NULL);
}

static void a_thread_is_copied_to_its_top(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { 0 };
	const struct event *e;
	pid_t pid;

	(void)state;
	scene->depth = 12000;
	pid = take__fork(thread, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(end_of(e), scene->top);
	assert_false(e->flags & EVENT_F_TRUNCATED);
	assert_same_memory(pid, e, 0);
	take__free(&t);
	take__kill(pid);
}

static struct scene *signal_scene;

static void on_signal(int signo)
{
	(void)signo;
	signal_scene->tid = gettid();
	sleep_deep(signal_scene, signal_scene->depth);
}

static void signal_stack(void *arg)
{
	struct scene *scene = arg;
	uint8_t *p =
		mmap(NULL, STACK_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = { .ss_sp = p, .ss_size = STACK_SZ / 2 };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(sigaltstack(&ss, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &sa, NULL), 0);
	scene->top = (uint64_t)(uintptr_t)p + STACK_SZ / 2;
	signal_scene = scene;
	raise(SIGUSR1);
}

static void a_signal_handler_is_copied_to_its_top(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { 0 };
	struct event_switched interrupted;
	const struct event *e;
	pid_t pid;

	(void)state;
	scene->depth = 8000;
	pid = take__fork(signal_stack, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(end_of(e), scene->top);
	assert_same_memory(pid, e, 0);
	event__switched(e, &interrupted);
	assert_int_equal(interrupted.sp + interrupted.sz, start_stack(pid));
	take__free(&t);
	take__kill(pid);
}

/*
 * Sleeps in pause() on another stack, with the given g (Go's register) and thread pointer, like a
 * coroutine or a goroutine. No C code can run after that.
 */
#ifdef __aarch64__
static __attribute__((noreturn)) void sleep_on(uint64_t sp, uint64_t go, const void *tp)
{
	register uint64_t g asm("x28") = go;
	register uint64_t call asm("x8") = SYS_ppoll;

	asm volatile("cbz %[tp], 1f\n\tmsr tpidr_el0, %[tp]\n"
		     "1: mov sp, %[sp]\n"
		     "2: mov x0, 0\n\tmov x1, 0\n\tmov x2, 0\n\tmov x3, 0\n\tsvc 0\n\tb 2b"
		     :
		     : [tp] "r"(tp), [sp] "r"(sp), "r"(g), "r"(call)
		     : "memory", "x0", "x1", "x2", "x3");
	__builtin_unreachable();
}
#else
static __attribute__((noreturn)) void sleep_on(uint64_t sp, uint64_t go, const void *tp)
{
	register uint64_t top asm("r13") = sp;
	register uint64_t g asm("r14") = go;

	asm volatile("test %%rsi, %%rsi\n\tjz 1f\n\tsyscall\n"
		     "1: mov %%r13, %%rsp\n"
		     "2: mov %[pause], %%eax\n\tsyscall\n\tjmp 2b"
		     :
		     : "a"(SYS_arch_prctl), "D"(ARCH_SET_FS), "S"(tp), "r"(top),
		       "r"(g), [pause] "i"(SYS_pause)
		     : "memory", "rcx", "r11");
	__builtin_unreachable();
}
#endif

static uint64_t map_stack(struct scene *scene)
{
	uint8_t *p = mmap(NULL, STACK_SZ + 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t i = 0; i < STACK_SZ; i++)
		p[i] = (uint8_t)(i * 7);
	assert_int_equal(mprotect(p + STACK_SZ, 4096, PROT_NONE), 0);
	scene->base = (uint64_t)(uintptr_t)p;
	scene->top = scene->base + STACK_SZ;
	scene->tid = gettid();
	return scene->top - scene->depth;
}

static void goroutine(void *arg)
{
	struct scene *scene = arg;
	uint64_t sp = map_stack(scene);
	uint64_t *g = take__shared(4096);

	scene->top -= 8192; /* other stacks follow in the same mapping */
	g[0] = scene->base;
	g[1] = scene->top;
	sleep_on(sp, (uint64_t)(uintptr_t)g, NULL);
}

#ifdef __x86_64__
/* In C code r14 has any value: g is found through the thread pointer. Not on AArch64, where the
 * place of g among the thread's variables differs between programs. */
static void goroutine_in_c(void *arg)
{
	struct scene *scene = arg;
	uint64_t sp = map_stack(scene);
	uint64_t *g = take__shared(4096), *m = take__shared(4096);

	scene->top -= 8192;
	g[0] = scene->base;
	g[1] = scene->top;
	m[1] = (uint64_t)(uintptr_t)g;
	sleep_on(sp, 0x1234567, &m[2]); /* as runtime.settls does */
}
#endif

static void coroutine(void *arg)
{
	struct scene *scene = arg;
	uint64_t sp = map_stack(scene);

	sleep_on(sp, 0, NULL);
}

static void ends_at_top(void (*fn)(void *))
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { 0 };
	const struct event *e;
	pid_t pid;

	scene->depth = 30000;
	pid = take__fork(fn, scene);
	e = take__asleep(&t, scene);
	assert_int_equal(e->regs[EVENT_REG_SP], scene->base + STACK_SZ - scene->depth);
	assert_int_equal(end_of(e), scene->top);
	assert_false(e->flags & EVENT_F_TRUNCATED);
	assert_same_memory(pid, e, 0);
	take__free(&t);
	take__kill(pid);
}

static void a_goroutine_is_copied_to_its_top(void **state)
{
	(void)state;
	ends_at_top(goroutine);
#ifdef __x86_64__
	ends_at_top(goroutine_in_c);
#endif
}

/* Only its mapping shows where it ends. */
static void a_coroutine_is_copied_to_its_top(void **state)
{
	(void)state;
	ends_at_top(coroutine);
}

/* The third page below the top. */
static uint64_t hole_of(const struct scene *scene)
{
	return scene->top - 3 * page_sz();
}

/* A hole between the stack pointer and the top that the thread records. */
static void goroutine_with_hole(void *arg)
{
	struct scene *scene = arg;
	uint64_t sp = map_stack(scene);
	uint64_t *g = take__shared(4096);

	g[0] = scene->base;
	g[1] = scene->top;
	assert_int_equal(munmap((void *)(uintptr_t)hole_of(scene), page_sz()), 0);
	sleep_on(sp, (uint64_t)(uintptr_t)g, NULL);
}

static void a_missing_page_is_skipped(void **state)
{
	struct scene *scene = take__shared(sizeof(*scene));
	struct take t = { 0 };
	const struct event *e;
	uint64_t first, cnt = page_sz() / EVENT_PAGE;
	pid_t pid;

	(void)state;
	scene->depth = 3 * page_sz() + 17000;
	pid = take__fork(goroutine_with_hole, scene);
	e = take__asleep(&t, scene);
	first = hole_of(scene) / EVENT_PAGE - e->stack_addr / EVENT_PAGE;
	assert_int_equal(end_of(e) + page_sz(), scene->top);
	assert_int_equal(e->flags & (EVENT_F_TRUNCATED | EVENT_F_HOLES), EVENT_F_HOLES);
	for (uint64_t i = 0; i < EVENT_HOLES_SZ * 8; i++)
		assert_int_equal(event__holes(e)[i / 8] >> i % 8 & 1, i - first < cnt);
	assert_memory_equal(event__ustack(e) + e->ustack_sz - 2 * 4096,
			    event__ustack(e) + e->ustack_sz - 2 * 4096 - 512, 4096);
	take__free(&t);
	take__kill(pid);
}

RUN_TESTS(ROOT_TEST(a_main_thread_is_copied_to_its_top), ROOT_TEST(a_deeper_stack_is_truncated),
	  ROOT_TEST(the_deepest_stack_is_copied), ROOT_TEST(a_thread_is_copied_to_its_top),
	  ROOT_TEST(a_signal_handler_is_copied_to_its_top),
	  ROOT_TEST(a_goroutine_is_copied_to_its_top), ROOT_TEST(a_coroutine_is_copied_to_its_top),
	  ROOT_TEST(a_missing_page_is_skipped))
