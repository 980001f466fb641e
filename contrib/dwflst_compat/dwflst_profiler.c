// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: dwflst_profiler SECONDS PID
 *
 * A profiler of one process that is written to the interface of elfutils 0.193: it builds with its
 * libdw, and with any other by dwflst_compat.h. Names come from libdwfl.
 */
#if __has_include(<elfutils/libdwfl_stacktrace.h>)
#include <elfutils/libdwfl_stacktrace.h>
#else
#include <dwflst_compat.h>
#endif
#include <fcntl.h>
#include <time.h>

#include "folded.h"
#include "perf_samples.h"

#define HZ	  199
#define FRAME_MAX 256

struct profiler {
	Dwflst_Process_Tracker *tracker;
	Elf *elf; /* of the program */
	uint64_t mask;
	pid_t pid;
	struct folded folded;
};

struct chain {
	size_t cnt;
	Dwarf_Addr places[FRAME_MAX];
};

static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)mod, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwflst_tracker_linux_proc_find_elf,
	.find_debuginfo = no_debuginfo,
};

static Dwfl *make_dwfl(Dwflst_Process_Tracker *tracker, pid_t pid, void *arg)
{
	Dwfl *dwfl = dwflst_tracker_dwfl_begin(tracker);

	(void)arg;
	if (dwfl && dwfl_linux_proc_report(dwfl, pid) == 0 &&
	    dwfl_report_end(dwfl, NULL, NULL) == 0)
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct chain *c = arg;
	bool isactivation;

	if (!dwfl_frame_pc(state, &c->places[c->cnt], &isactivation))
		return DWARF_CB_ABORT;
	c->places[c->cnt++] -= !isactivation;
	return c->cnt == FRAME_MAX ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static void add(struct profiler *p, Dwfl *dwfl, const struct chain *c)
{
	static char line[FRAME_MAX * 128];
	size_t at = 0;

	for (size_t i = c->cnt; i-- > 0;) {
		Dwfl_Module *mod = dwfl_addrmodule(dwfl, c->places[i]);
		const char *name = mod ? dwfl_module_addrname(mod, c->places[i]) : NULL;

		at += (size_t)snprintf(line + at, 128, "%s%.100s", at ? ";" : "",
				       name ? name : "?");
	}
	folded_add(&p->folded, line);
}

static void on_record(const struct perf_event_header *h, const void *body, void *arg)
{
	const uint64_t *at = (const uint64_t *)body + 1;
	struct profiler *p = arg;
	pid_t pid = *(const pid_t *)body, tid = ((const pid_t *)body)[1];
	uint32_t n_regs = (uint32_t)__builtin_popcountll(p->mask);
	struct chain c = { 0 };
	Dwfl *dwfl;

	if (h->type != PERF_RECORD_SAMPLE || pid != p->pid || *at == 0)
		return;
	dwfl = dwflst_tracker_find_pid(p->tracker, pid, make_dwfl, NULL);
	if (!dwfl)
		return;
	dwflst_perf_sample_getframes(dwfl, p->elf, pid, tid, at + n_regs + 2,
				     at[n_regs + 2 + at[n_regs + 1] / 8], at + 1, n_regs, p->mask,
				     (uint32_t)*at, on_frame, &c);
	add(p, dwfl, &c);
}

static Elf *open_program(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	elf_version(EV_CURRENT);
	return elf_begin(open(path, O_RDONLY | O_CLOEXEC), ELF_C_READ, NULL);
}

int main(int argc, char **argv)
{
	struct profiler p = { .tracker = dwflst_tracker_begin(&callbacks),
			      .mask = dwflst_perf_sample_preferred_regs_mask(EM_X86_64),
			      .pid = argc > 2 ? atoi(argv[2]) : 0 };
	struct perf_samples *samples = perf_samples_open(HZ, p.mask);

	if (argc < 3)
		return fputs("usage: dwflst_profiler SECONDS PID\n", stderr), 2;
	p.elf = open_program(argv[2]);
	if (!p.tracker || !samples || !p.elf)
		return perror("dwflst_profiler"), 1;
	for (int i = 0; i < atof(argv[1]) * 20; i++) {
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
		perf_samples_read(samples, on_record, &p);
	}
	folded_print(&p.folded);
	dwflst_tracker_end(p.tracker);
	elf_end(p.elf);
	return 0;
}
