/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dwflst_* functions of elfutils (0.193 and later, <elfutils/libdwfl_stacktrace.h>) over
 * libstacktrace. With them, a profiler that calls these functions also builds where libdw lacks
 * them:
 *
 *	#include <dwflst_compat.h>	instead of <elfutils/libdwfl_stacktrace.h>
 *
 * and `pkg-config --libs libstacktrace libdw`. If libdw has the functions, this header replaces
 * them: including the other header before this one is an error, and after this one it is empty.
 * Dwfls are libdw's own, for names and lines. libstacktrace walks the stacks; it reads mappings
 * from /proc and ignores what was reported to the Dwfl. The differences:
 * - In a file that includes this header, dwfl_frame_pc(), dwfl_frame_reg(),
 * dwfl_frame_unwound_source(), dwfl_pid() and dwfl_end() are those of this header. A Dwfl_Frame is
 * a frame of a sample. Its only register is the stack pointer.
 * - If a stack does not reach its root, the result is -1 and dwfl_errno() does not change.
 * - No process is attached. dwfl_pid() returns the process of the samples that were walked.
 *
 * dwflst_compat_frame.h has frames and machines; this header has trackers, files and samples. All
 * files of a program that include this header share one state, protected by one lock.
 */
#ifndef DWFLST_COMPAT_H
#define DWFLST_COMPAT_H

#ifdef _LIBDWFL_STACKTRACE_H
#error "dwflst_compat.h stands in for <elfutils/libdwfl_stacktrace.h>: include only one of them"
#endif
#define _LIBDWFL_STACKTRACE_H 1 /* makes a later #include of that header empty */

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dwflst_compat_frame.h"
#include "stacktrace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Dwflst_Process_Tracker Dwflst_Process_Tracker;

/* ---- private ----------------------------------------------------------------------------------
 */

struct dwflst_compat_session {
	Dwfl *dwfl;
	pid_t pid;     /* 0: not known yet */
	bool attached; /* a sample was walked */
	struct dwflst_compat_session *next;
};

struct dwflst_compat_file {
	char *name;
	struct stat st;
	Elf *elf; /* a reference */
	int fd;
	struct dwflst_compat_file *next;
};

struct Dwflst_Process_Tracker {
	const Dwfl_Callbacks *callbacks;
	stacktrace_tracker *tracker;
	struct dwflst_compat_session *sessions;
	struct dwflst_compat_file *files;
	Dwflst_Process_Tracker *next;
};

struct dwflst_compat_state {
	pthread_mutex_t lock;
	Dwflst_Process_Tracker *trackers;
};

/* One state for all Dwfls: a Dwfl has no pointer to its process. */
__attribute__((weak)) struct dwflst_compat_state dwflst_compat_state = { PTHREAD_MUTEX_INITIALIZER,
									 NULL };

static inline void dwflst_compat_lock(void)
{
	pthread_mutex_lock(&dwflst_compat_state.lock);
}

static inline void dwflst_compat_unlock(void)
{
	pthread_mutex_unlock(&dwflst_compat_state.lock);
}

/* Returns the session of `dwfl` and sets `*tracker`, or returns NULL if no tracker has it. Must
 * hold the lock. */
static inline struct dwflst_compat_session *dwflst_compat_find(const Dwfl *dwfl,
							       Dwflst_Process_Tracker **tracker)
{
	Dwflst_Process_Tracker *t;
	struct dwflst_compat_session *s;

	for (t = dwflst_compat_state.trackers; t; t = t->next)
		for (s = t->sessions; s; s = s->next)
			if (s->dwfl == dwfl) {
				*tracker = t;
				return s;
			}
	return NULL;
}

static inline void dwflst_compat_drop_file(struct dwflst_compat_file *f)
{
	elf_end(f->elf);
	close(f->fd);
	free(f->name);
	free(f);
}

/* ---- trackers and their Dwfls -----------------------------------------------------------------
 */

static inline Dwflst_Process_Tracker *dwflst_tracker_begin(const Dwfl_Callbacks *callbacks)
{
	Dwflst_Process_Tracker *t = (Dwflst_Process_Tracker *)calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->callbacks = callbacks;
	t->tracker = stacktrace_tracker_new(NULL);
	if (!t->tracker) {
		free(t);
		return NULL;
	}
	dwflst_compat_lock();
	t->next = dwflst_compat_state.trackers;
	dwflst_compat_state.trackers = t;
	dwflst_compat_unlock();
	return t;
}

static inline Dwfl *dwflst_tracker_dwfl_begin(Dwflst_Process_Tracker *t)
{
	struct dwflst_compat_session *s = (struct dwflst_compat_session *)calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dwfl = dwfl_begin(t->callbacks);
	if (!s->dwfl) {
		free(s);
		return NULL;
	}
	dwflst_compat_lock();
	s->next = t->sessions;
	t->sessions = s;
	dwflst_compat_unlock();
	return s->dwfl;
}

/* Removes `dwfl` from its tracker's list, if it is on one. */
static inline void dwflst_compat_forget(const Dwfl *dwfl)
{
	Dwflst_Process_Tracker *t;
	struct dwflst_compat_session *s, **at;

	dwflst_compat_lock();
	s = dwflst_compat_find(dwfl, &t);
	if (s) {
		for (at = &t->sessions; *at != s; at = &(*at)->next)
			;
		*at = s->next;
	}
	dwflst_compat_unlock();
	free(s);
}

static inline void dwflst_compat_dwfl_end(Dwfl *dwfl)
{
	dwflst_compat_forget(dwfl);
	dwfl_end(dwfl);
}
#define dwfl_end dwflst_compat_dwfl_end

static inline void dwflst_tracker_end(Dwflst_Process_Tracker *t)
{
	Dwflst_Process_Tracker **at;
	struct dwflst_compat_file *f;

	if (!t)
		return;
	while (t->sessions)
		dwfl_end(t->sessions->dwfl);
	dwflst_compat_lock();
	for (at = &dwflst_compat_state.trackers; *at != t; at = &(*at)->next)
		;
	*at = t->next;
	dwflst_compat_unlock();
	while ((f = t->files)) {
		t->files = f->next;
		dwflst_compat_drop_file(f);
	}
	stacktrace_tracker_free(t->tracker);
	free(t);
}

static inline pid_t dwflst_compat_dwfl_pid(Dwfl *dwfl)
{
	struct dwflst_compat_session *s;
	Dwflst_Process_Tracker *t;
	pid_t pid;

	dwflst_compat_lock();
	s = dwflst_compat_find(dwfl, &t);
	pid = s && s->attached ? s->pid : -1;
	dwflst_compat_unlock();
	return s ? pid : dwfl_pid(dwfl);
}
#define dwfl_pid dwflst_compat_dwfl_pid

/* Returns the tracker of `dwfl`, or NULL. Records that the Dwfl belongs to process `pid`, unless
 * its process is known. */
static inline Dwflst_Process_Tracker *dwflst_compat_tracker(const Dwfl *dwfl, pid_t pid,
							    bool attach)
{
	Dwflst_Process_Tracker *t = NULL;
	struct dwflst_compat_session *s;

	dwflst_compat_lock();
	s = dwfl ? dwflst_compat_find(dwfl, &t) : NULL;
	if (s && !s->pid)
		s->pid = pid;
	if (s && attach)
		s->attached = true;
	dwflst_compat_unlock();
	return t;
}

static inline Dwfl *dwflst_tracker_find_pid(Dwflst_Process_Tracker *t, pid_t pid,
					    Dwfl *(*callback)(Dwflst_Process_Tracker *, pid_t,
							      void *),
					    void *arg)
{
	struct dwflst_compat_session *s;
	Dwfl *dwfl;

	dwflst_compat_lock();
	for (s = t->sessions; s && s->pid != pid; s = s->next)
		;
	dwfl = s ? s->dwfl : NULL;
	dwflst_compat_unlock();
	if (dwfl || !callback)
		return dwfl;
	dwfl = callback(t, pid, arg);
	dwflst_compat_tracker(dwfl, pid, false);
	return dwfl;
}

static inline Dwflst_Process_Tracker *dwflst_module_gettracker(Dwfl_Module *mod)
{
	Dwflst_Process_Tracker *t;
	struct dwflst_compat_session *s;
	Dwarf_Addr start = 0;

	dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	dwflst_compat_lock();
	for (t = dwflst_compat_state.trackers; t; t = t->next) {
		for (s = t->sessions; s && dwfl_addrmodule(s->dwfl, start) != mod; s = s->next)
			;
		if (s)
			break;
	}
	dwflst_compat_unlock();
	return t;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static inline bool dwflst_compat_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The caller owns the returned fd, and a reference to the Elf. */
static inline int dwflst_tracker_find_cached_elf(Dwflst_Process_Tracker *t, const char *module_name,
						 const char *module_path, char **file_name,
						 Elf **elfp)
{
	struct dwflst_compat_file *f;
	struct stat st;
	int fd = -1;

	if (stat(module_path ? module_path : module_name, &st) != 0)
		return -1;
	dwflst_compat_lock();
	for (f = t->files; f; f = f->next)
		if (strcmp(f->name, module_name) == 0 && dwflst_compat_same(&f->st, &st))
			break;
	if (f)
		fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0) {
		*elfp = elf_begin(-1, ELF_C_READ, f->elf);
		*file_name = strdup(f->name);
	}
	dwflst_compat_unlock();
	return fd;
}

static inline bool dwflst_tracker_cache_elf(Dwflst_Process_Tracker *t, const char *module_name,
					    const char *file_name, Elf *elf, int fd)
{
	struct dwflst_compat_file *f = (struct dwflst_compat_file *)calloc(1, sizeof(*f));

	(void)file_name;
	if (!f || fstat(fd, &f->st) != 0) {
		free(f);
		return false;
	}
	f->name = strdup(module_name);
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	f->elf = elf_begin(-1, ELF_C_READ, elf);
	if (!f->name || f->fd < 0 || !f->elf) {
		dwflst_compat_drop_file(f);
		return false;
	}
	dwflst_compat_lock();
	f->next = t->files;
	t->files = f;
	dwflst_compat_unlock();
	return true;
}

/* The cached Elf gets its own fd, because libdwfl closes the other one. */
static inline void dwflst_compat_share(Dwflst_Process_Tracker *t, const char *name, int fd,
				       Elf **elfp)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = own < 0 ? NULL : elf_begin(own, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (!elf || elf_cntl(elf, ELF_C_FDREAD) != 0 ||
	    !dwflst_tracker_cache_elf(t, name, name, elf, own)) {
		elf_end(elf);
		elf = NULL;
	}
	if (own >= 0)
		close(own);
	*elfp = elf;
}

static inline int dwflst_tracker_linux_proc_find_elf(Dwfl_Module *mod, void **userdata,
						     const char *module_name, Dwarf_Addr base,
						     char **file_name, Elf **elfp)
{
	Dwflst_Process_Tracker *t = dwflst_module_gettracker(mod);
	int fd = -1;

	if (t && module_name[0] == '/')
		fd = dwflst_tracker_find_cached_elf(t, module_name, module_name, file_name, elfp);
	if (fd >= 0)
		return fd;
	fd = dwfl_linux_proc_find_elf(mod, userdata, module_name, base, file_name, elfp);
	if (t && fd >= 0 && !*elfp)
		dwflst_compat_share(t, module_name, fd, elfp);
	return fd;
}

/* ---- samples ----------------------------------------------------------------------------------
 */

struct dwflst_compat_walk {
	int (*callback)(Dwfl_Frame *, void *);
	void *arg;
	int result;
};

static inline int dwflst_compat_on_frame(const struct stacktrace_frame *frame, void *arg)
{
	struct dwflst_compat_walk *w = (struct dwflst_compat_walk *)arg;

	w->result = w->callback((Dwfl_Frame *)(uintptr_t)frame, w->arg);
	return w->result != DWARF_CB_OK;
}

static inline int dwflst_compat_getframes(Dwfl *dwfl, const struct stacktrace_sample *sample,
					  struct dwflst_compat_walk *w)
{
	Dwflst_Process_Tracker *t = dwflst_compat_tracker(dwfl, sample->pid, true);
	int end;

	if (!t)
		return -1;
	end = stacktrace_sample_getframes(t->tracker, sample, dwflst_compat_on_frame, w);
	if (end == STACKTRACE_STOPPED)
		return w->result;
	return end == STACKTRACE_ROOT ? 0 : -1;
}

static inline struct stacktrace_sample dwflst_compat_sample(Elf *elf, pid_t pid, pid_t tid)
{
	struct stacktrace_sample s = stacktrace_sample_init();
	GElf_Ehdr ehdr;

	s.pid = pid;
	s.tid = tid;
	s.abi = STACKTRACE_ABI_64;
	if (!elf || !gelf_getehdr(elf, &ehdr))
		return s;
	s.machine = ehdr.e_machine;
	if (ehdr.e_ident[EI_CLASS] == ELFCLASS32)
		s.abi = STACKTRACE_ABI_32;
	return s;
}

static inline int dwflst_sample_getframes(Dwfl *dwfl, Elf *elf, pid_t pid, pid_t tid,
					  const void *stack, size_t stack_size,
					  const Dwarf_Word *regs, uint32_t n_regs,
					  const int *regs_mapping, size_t n_regs_mapping,
					  int (*callback)(Dwfl_Frame *state, void *arg), void *arg)
{
	struct dwflst_compat_walk w = { callback, arg, 0 };
	struct stacktrace_sample s = dwflst_compat_sample(elf, pid, tid);

	s.stack = stack;
	s.stack_size = stack_size;
	s.regs = (const uint64_t *)regs;
	s.n_regs = n_regs < n_regs_mapping ? n_regs : n_regs_mapping;
	s.mapping = regs_mapping;
	return dwflst_compat_getframes(dwfl, &s, &w);
}

static inline int dwflst_perf_sample_getframes(Dwfl *dwfl, Elf *elf, pid_t pid, pid_t tid,
					       const void *stack, size_t stack_size,
					       const Dwarf_Word *regs, uint32_t n_regs,
					       uint64_t perf_regs_mask, uint32_t abi,
					       int (*callback)(Dwfl_Frame *state, void *arg),
					       void *arg)
{
	struct dwflst_compat_walk w = { callback, arg, 0 };
	struct stacktrace_sample s = dwflst_compat_sample(elf, pid, tid);

	s.stack = stack;
	s.stack_size = stack_size;
	s.regs = (const uint64_t *)regs;
	s.n_regs = n_regs;
	s.perf_mask = perf_regs_mask;
	s.abi = abi;
	return dwflst_compat_getframes(dwfl, &s, &w);
}

static inline uint64_t dwflst_perf_sample_preferred_regs_mask(GElf_Half machine)
{
	return stacktrace_preferred_regs_mask(machine);
}

#ifdef __cplusplus
}
#endif

#endif
