// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/model/waittraits.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum match { MATCH_IS, MATCH_BEGINS, MATCH_HAS };
enum subject {
	SUBJECT_NAME,
	SUBJECT_MODULE,
	SUBJECT_CALL /* a name without leading underscores */
};

/* Texts that give a trait. */
static const struct trait_rule {
	uint16_t trait;
	enum subject subject;
	enum match match;
	const char *texts[20]; /* NULL after the last */
} trait_rules[] = {
	{ WAIT_SCHEDULES,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel" } },
	{ WAIT_LIBC,
	  SUBJECT_MODULE,
	  MATCH_BEGINS,
	  { "libc.so", "libpthread.so", "libstdc++.so", "libc++.so", "ld-linux", "ld-musl",
	    "libc.musl" } },
	{ WAIT_RUNTIME, SUBJECT_NAME, MATCH_BEGINS, { "runtime.", "internal/runtime/" } },
	{ WAIT_RUNTIME, SUBJECT_NAME, MATCH_BEGINS, { "std::sys::", "std::thread::park" } },
	{ WAIT_RUNTIME,
	  SUBJECT_NAME,
	  MATCH_BEGINS,
	  { "Java_", "sun.nio.", "jdk.internal.misc.", "java.util.concurrent.locks.",
	    "java.lang.Object.wait" } },
	{ WAIT_RUNTIME,
	  SUBJECT_MODULE,
	  MATCH_IS,
	  { "libjvm.so", "threading.py", "queue.py", "selectors.py" } },
	{ WAIT_RUNTIME,
	  SUBJECT_MODULE,
	  MATCH_BEGINS,
	  { "_socket.cpython-", "select.cpython-", "_ssl.cpython-", "_queue.cpython-",
	    "_io.cpython-" } },
	{ WAIT_UNNAMED, SUBJECT_NAME, MATCH_BEGINS, { "+" } },
	{ WAIT_UNNAMED, SUBJECT_NAME, MATCH_IS, { "[no symbol]" } },
	{ WAIT_ROOT,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "start_thread",
	    "clone", "clone3", "__clone3", "_start" } },
	/* PostgreSQL */
	{ WAIT_PLUMBING,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "WaitEventSetWait", "WaitEventSetWaitBlock", "WaitLatch", "WaitLatchOrSocket",
	    "ProcSleep", "WaitOnLock", "LockAcquireExtended", "LockAcquire", "PGSemaphoreLock",
	    "LWLockAcquire", "LWLockAcquireOrWait", "ConditionVariableSleep",
	    "ConditionVariableTimedSleep", "ProcWaitForSignal" } },
	{ WAIT_CAUSE,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "ProcSleep", "LWLockAcquire", "LWLockAcquireOrWait", "ConditionVariableSleep",
	    "ConditionVariableTimedSleep", "ProcWaitForSignal", "SyncRepWaitForLSN", "pg_sleep",
	    "shm_mq_receive", "libpqrcv_receive" } },
	/* HotSpot */
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "VMThread::run", "WatcherThread::run", "WorkerThread::run", "GangWorker::run",
	    "CompileQueue::get", "ConcurrentGCThread::run", "ServiceThread::service_thread_entry",
	    "signal_thread_entry", "MonitorDeflationThread::monitor_deflation_thread_entry" } },
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_HAS,
	  { "ThreadPoolExecutor.getTask", "ForkJoinPool.awaitWork", "DelayedWorkQueue.take",
	    "Reference.waitForReferencePendingList", "ReferenceQueue.remove",
	    "TimerThread.mainLoop" } },
	/* Go */
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "runtime.stopm", "runtime.findRunnable", "runtime.findrunnable", "runtime.sysmon",
	    "runtime.templateThread" } },
	/* CPython, gunicorn */
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "SyncWorker.wait", "Arbiter.sleep", "Arbiter.wait_for_signals", "Thread.join",
	    "Thread._wait_for_tstate_lock" } },
	/* Rust, Node */
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_HAS,
	  { "rayon_core::sleep", "worker::Context::park", "PlatformWorkerThread" } },
	/* the kernel's, for threads without a user stack */
	{ WAIT_LOOP,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "ep_poll", "inet_csk_accept", "do_sigtimedwait", "sigsuspend", "do_wait",
	    "io_cqring_wait" } },
	{ WAIT_OUTER_LOOP,
	  SUBJECT_NAME,
	  MATCH_IS,
	  { "ngx_epoll_process_events", "uv__io_poll", "event_base_loop", "g_main_context_iterate",
	    "g_main_loop_run", "aeProcessEvents", "main_loop_wait", "qemu_poll_ns",
	    "PostmasterMain", "server_loop2", "BaseEventLoop._run_once", "BaseServer.serve_forever",
	    "Arbiter.run" } },
	/* the collector's processes without rights */
	{ WAIT_PLUMBING, SUBJECT_NAME, MATCH_IS, { "channel__receive" } },
	{ WAIT_OUTER_LOOP, SUBJECT_NAME, MATCH_IS, { "task__serve", "starter__begin" } },
	{ WAIT_LOOP_CALL,
	  SUBJECT_CALL,
	  MATCH_IS,
	  { "epoll_wait", "epoll_pwait", "epoll_wait2", "epoll_pwait2", "accept", "accept4",
	    "libc_accept", "libc_accept4", "sigwait", "sigwaitinfo", "sigtimedwait", "sigsuspend",
	    "io_getevents", "wait4", "waitid", "waitpid" } },
	{ WAIT_LOOP_CALL,
	  SUBJECT_CALL,
	  MATCH_BEGINS,
	  { "pthread_join", "pthread_timedjoin", "pthread_clockjoin" } },
	{ WAIT_POOL_CALL,
	  SUBJECT_CALL,
	  MATCH_IS,
	  { "poll", "ppoll", "select", "pselect", "syscall", "cnd_wait", "cnd_timedwait" } },
	{ WAIT_POOL_CALL,
	  SUBJECT_CALL,
	  MATCH_BEGINS,
	  { "sem_wait", "sem_timedwait", "sem_clockwait", "new_sem_wait", "new_sem_timedwait",
	    "new_sem_clockwait", "pthread_cond_wait", "pthread_cond_timedwait",
	    "pthread_cond_clockwait", "futex_abstimed_wait_common", "std::condition_variable::" } },
};

static bool trait_text_is(struct frame_text t, const char *s)
{
	return t.sz == strlen(s) && memcmp(t.s, s, t.sz) == 0;
}

static bool trait_text_begins(struct frame_text t, const char *s)
{
	return t.sz >= strlen(s) && memcmp(t.s, s, strlen(s)) == 0;
}

static bool trait_text_has(struct frame_text t, const char *s)
{
	return t.sz && memmem(t.s, t.sz, s, strlen(s)) != NULL;
}

static bool (*const matches[])(struct frame_text, const char *) = {
	[MATCH_IS] = trait_text_is,
	[MATCH_BEGINS] = trait_text_begins,
	[MATCH_HAS] = trait_text_has,
};

static bool trait_rule_holds(const struct trait_rule *r, struct frame_text subject)
{
	for (const char *const *text = r->texts; *text; text++)
		if (matches[r->match](subject, *text))
			return true;
	return false;
}

/* The interpreter or its library: python3.11, libpython3.12.so.1.0. */
static bool waittraits_is_python(struct frame_text module)
{
	const char *at, *end = module.s + module.sz;

	if (trait_text_begins(module, "lib"))
		module = (struct frame_text){ module.s + 3, module.sz - 3 };
	if (!trait_text_begins(module, "python3"))
		return false;
	at = module.s + strlen("python3");
	while (at < end && (isdigit((unsigned char)*at) || *at == '.'))
		at++;
	return at == end || (at[-1] == '.' && end - at >= 2 && at[0] == 's' && at[1] == 'o');
}

/* Rules of more than one text. */
static uint16_t traits_refine(uint16_t traits, struct frame_text name, struct frame_text module)
{
	if (trait_text_is(module, "[kernel]") &&
	    (trait_text_has(name, "schedule") || trait_text_is(name, "__cond_resched")))
		traits |= WAIT_SCHEDULES;
	if (!trait_text_has(module, ".so"))
		traits &= ~WAIT_LIBC;
	if (traits & WAIT_LIBC || waittraits_is_python(module))
		traits |= WAIT_RUNTIME;
	if (!(traits & WAIT_LIBC))
		traits &= ~(WAIT_LOOP_CALL | WAIT_POOL_CALL);
	if (trait_text_begins(name, "std::condition_variable::") && !trait_text_has(name, "wait"))
		traits &= ~WAIT_POOL_CALL;
	if (trait_text_is(name, "_worker") && trait_text_is(module, "thread.py"))
		traits |= WAIT_OUTER_LOOP;
	return traits;
}

uint16_t wait_traits__of(struct frame_text name, struct frame_text module)
{
	struct frame_text subjects[] = {
		[SUBJECT_NAME] = name, [SUBJECT_MODULE] = module, [SUBJECT_CALL] = name
	};
	uint16_t traits = 0;

	while (subjects[SUBJECT_CALL].sz && *subjects[SUBJECT_CALL].s == '_') {
		subjects[SUBJECT_CALL].s++;
		subjects[SUBJECT_CALL].sz--;
	}
	for (size_t i = 0; i < sizeof(trait_rules) / sizeof(trait_rules[0]); i++)
		if (trait_rule_holds(&trait_rules[i], subjects[trait_rules[i].subject]))
			traits |= trait_rules[i].trait;
	return traits_refine(traits, name, module);
}
