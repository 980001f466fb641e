// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/libdwflwalk.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/regs.h"

#define PROCESSES 64 /* processes with cached modules */

/* The modules of one process, rebuilt when its mappings change. */
struct modules {
	uint32_t tgid;
	Dwfl *dwfl;
	struct mapping *maps; /* the modules were built from these; compared, never dereferenced */
	size_t map_cnt;
	const struct sample *sample; /* the current one, which libdwfl's callbacks read */
	bool past_end; /* the caller of the current frame is past the snapshot's end */
};

/* The current walk. */
struct libdwflwalk_visit {
	const struct process *process;
	const struct sample *sample;
	struct trace *trace;
	struct modules *modules; /* NULL: none */
};

struct libdwflwalk {
	struct modules processes[PROCESSES]; /* by tgid % PROCESSES */
};

struct libdwflwalk *libdwflwalk__new(void)
{
	return calloc(1, sizeof(struct libdwflwalk));
}

static void modules__clear(struct modules *m)
{
	dwfl_end(m->dwfl);
	free(m->maps);
	*m = (struct modules){ 0 };
}

void libdwflwalk__free(struct libdwflwalk *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < PROCESSES; i++)
		modules__clear(&n->processes[i]);
	free(n);
}

/* ---- modules from mappings ---- */

static int libdwflwalk_no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name,
				    Dwarf_Addr base, const char *file_name, const char *link,
				    GElf_Word crc, char **path)
{
	(void)mod, (void)userdata, (void)name, (void)base;
	(void)file_name, (void)link, (void)crc, (void)path;
	return -1;
}

static int libdwflwalk_file_fd(const struct elf_file *f)
{
	int fd;

	if (f->fd >= 0)
		return fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	fd = f->image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (fd >= 0 && pwrite(fd, f->image, f->sz, 0) != (ssize_t)f->sz) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Finds the difference between addresses and link-time addresses. The first page may also belong to
 * another segment. */
static bool libdwflwalk_find_bias(const struct mapping *m, uint64_t *bias)
{
	for (size_t i = 0; m->file && i < m->file->segment_cnt; i++) {
		const struct elf_segment *s = &m->file->segments[i];

		*bias = m->start - m->pgoff + s->off - s->vaddr;
		if ((s->flags & PF_X) && s->off + s->sz > m->pgoff &&
		    s->off < m->pgoff + (m->end - m->start))
			return true;
	}
	return false;
}

static void libdwflwalk_report(Dwfl *dwfl, const struct mapping *m, size_t number)
{
	uint64_t bias;
	char name[32];
	int fd;

	if (!libdwflwalk_find_bias(m, &bias))
		return;
	snprintf(name, sizeof(name), "%zu", number);
	fd = libdwflwalk_file_fd(m->file);
	if (fd >= 0 && !dwfl_report_elf(dwfl, name, name, fd, bias, true))
		close(fd);
}

static pid_t libdwflwalk_next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct modules *m = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = m;
	return (pid_t)m->tgid;
}

static bool libdwflwalk_memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	struct modules *m = arg;
	const struct snapshot *s = &m->sample->stack;

	(void)dwfl;
	m->past_end |= addr >= s->addr && addr + sizeof(addr) > s->addr + s->sz;
	return snapshot__word(s, addr, word);
}

static bool libdwflwalk_set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct sample *s = ((struct modules *)arg)->sample;

	dwfl_thread_state_register_pc(thread, s->regs[s->machine->pc]);
	return dwfl_thread_state_registers(thread, 0, s->machine->reg_cnt, s->regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = libdwflwalk_next_thread,
	.memory_read = libdwflwalk_memory_read,
	.set_initial_registers = libdwflwalk_set_registers,
};

static const Dwfl_Callbacks callbacks = { .find_debuginfo = libdwflwalk_no_debuginfo };

static int modules__make(struct modules *m, const struct process *p)
{
	m->tgid = p->tgid;
	m->dwfl = dwfl_begin(&callbacks);
	m->maps = calloc(p->map_cnt + 1, sizeof(*m->maps));
	if (!m->dwfl || !m->maps)
		return -ENOMEM;
	memcpy(m->maps, p->maps, p->map_cnt * sizeof(*m->maps));
	m->map_cnt = p->map_cnt;
	dwfl_report_begin(m->dwfl);
	for (size_t i = 0; i < p->map_cnt; i++)
		libdwflwalk_report(m->dwfl, &p->maps[i], i);
	dwfl_report_end(m->dwfl, NULL, NULL);
	return dwfl_attach_state(m->dwfl, NULL, (pid_t)p->tgid, &thread_callbacks, m) ? 0 : -EINVAL;
}

static struct modules *modules_of(struct libdwflwalk *n, const struct process *p)
{
	struct modules *m = &n->processes[p->tgid % PROCESSES];

	process__open(p);
	if (m->dwfl && m->tgid == p->tgid && m->map_cnt == p->map_cnt &&
	    memcmp(m->maps, p->maps, p->map_cnt * sizeof(*m->maps)) == 0)
		return m;
	modules__clear(m);
	if (modules__make(m, p) == 0)
		return m;
	modules__clear(m);
	return NULL;
}

/* ---- the walk ---- */

static int libdwflwalk_add_frame(Dwfl_Frame *state, void *arg)
{
	const struct libdwflwalk_visit *v = arg;
	struct trace *t = v->trace;
	struct frame *f = &t->frames[t->cnt];
	bool activation;
	Dwarf_Addr pc;

	v->modules->past_end = false; /* dwfl_frame_pc() continues to the caller */
	if (t->cnt == TRACE_MAX || !dwfl_frame_pc(state, &pc, &activation))
		return DWARF_CB_ABORT;
	*f = (struct frame){ .pc = pc,
			     .flags = activation ? 0 : FRAME_CALLER,
			     .source = t->cnt ? FRAME_BY_CFI : FRAME_BY_SAMPLE };
	/* A trampoline, and then the interrupted code. */
	if (activation && t->cnt && !(f[-1].flags & FRAME_SIGNAL))
		f->flags = FRAME_SIGNAL;
	f->map = process__find(v->process, frame__place(f));
	t->cnt++;
	return f->map ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static enum unwind_status libdwflwalk_status_of(const struct libdwflwalk_visit *v, int rc)
{
	const struct trace *t = v->trace;

	if (t->cnt == TRACE_MAX)
		return UNWIND_LIMIT;
	if (!t->frames[t->cnt - 1].map)
		return UNWIND_NO_MAP;
	if (rc == 0 && !v->modules->past_end) /* libdwfl treats unreadable memory as the end */
		return UNWIND_ROOT;
	return v->sample->truncated || v->sample->stack.holes ? UNWIND_TRUNCATED : UNWIND_NO_CFI;
}

static void libdwflwalk_leaf_only(const struct libdwflwalk_visit *v)
{
	uint64_t pc = v->sample->regs[v->sample->machine->pc];

	v->trace->cnt = 1;
	v->trace->frames[0] = (struct frame){ .pc = pc, .map = process__find(v->process, pc) };
}

void libdwflwalk__walk(struct libdwflwalk *n, const struct process *process,
		       const struct sample *sample, struct trace *trace)
{
	struct modules *m = modules_of(n, process);
	struct libdwflwalk_visit v = { process, sample, trace, m };
	int rc = -1;

	trace->cnt = 0;
	if (m && !sample->compat) {
		m->sample = sample;
		rc = dwfl_getthread_frames(m->dwfl, (pid_t)m->tgid, libdwflwalk_add_frame, &v);
		m->sample = NULL;
	}
	if (trace->cnt == 0)
		libdwflwalk_leaf_only(&v);
	trace->status = sample->compat ? UNWIND_COMPAT : libdwflwalk_status_of(&v, rc);
}
