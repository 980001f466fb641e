// SPDX-License-Identifier: GPL-2.0-or-later
/* contrib/dwflst_compat/dwflst_compat.h. */
#include "lib/test.h"

#include <dwflst_compat.h>
#include <pthread.h>

#include "lib/live_rig.h"
#include "lib/shell.h"

static const int dwarf_order[EVENT_REG_CNT] = { 0, 1,  2,  3,  4,  5,  6,  7, 8,
						9, 10, 11, 12, 13, 14, 15, 16 };

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

static Dwfl *make(Dwflst_Process_Tracker *tracker, pid_t pid, void *arg)
{
	Dwfl *dwfl = dwflst_tracker_dwfl_begin(tracker);

	++*(int *)arg;
	assert_non_null(dwfl);
	assert_int_equal(dwfl_linux_proc_report(dwfl, pid), 0);
	assert_int_equal(dwfl_report_end(dwfl, NULL, NULL), 0);
	return dwfl;
}

static Dwfl *refuse(Dwflst_Process_Tracker *tracker, pid_t pid, void *arg)
{
	(void)tracker, (void)pid, (void)arg;
	return NULL;
}

struct chain {
	size_t cnt, max;
	Dwarf_Addr pcs[64];
	bool activations[64];
	Dwarf_Word sps[64];
};

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct chain *c = arg;

	assert_true(dwfl_frame_pc(state, &c->pcs[c->cnt], &c->activations[c->cnt]));
	assert_int_equal(dwfl_frame_reg(state, 7, &c->sps[c->cnt]), 0);
	assert_int_equal(dwfl_frame_reg(state, 6, &c->sps[c->cnt]), -1);
	assert_string_equal(dwfl_unwound_source_str(dwfl_frame_unwound_source(state)),
			    c->cnt ? "eh_frame" : "initial");
	c->cnt++;
	return c->cnt == c->max ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int walk(Dwfl *dwfl, const struct event *e, pid_t pid, struct chain *c)
{
	c->cnt = 0;
	return dwflst_sample_getframes(dwfl, NULL, pid, pid, e->data + EVENT_RED_ZONE,
				       e->ustack_sz - EVENT_RED_ZONE, (const Dwarf_Word *)e->regs,
				       EVENT_REG_CNT, dwarf_order, EVENT_REG_CNT, on_frame, c);
}

/* Returns whether a function on top has a name. glibc 2.41 has up to three functions above each
 * blocking call, without a name in a stripped libc. */
static bool is_named(Dwfl_Module *mod, const struct chain *c)
{
	for (size_t i = 0; i < 4; i++) {
		if (dwfl_module_addrname(mod, c->pcs[i]))
			return true;
	}
	return false;
}

/* Two processes that map the same libc: a Dwfl each, but one Elf. */
static void processes_share_files(void **state)
{
	const char *argv[] = { "sleep", "1000", NULL };
	Dwflst_Process_Tracker *tracker = dwflst_tracker_begin(&callbacks);
	struct event *e = live__event();
	struct chain c = { 0 };
	Elf *libc[2];
	Dwfl *dwfl;
	int made = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		pid_t pid = live__start(argv, false);
		Dwfl_Module *mod;
		GElf_Addr bias;

		live__wait_in(pid, SYS_clock_nanosleep);
		assert_true(live__interrupt(pid));
		live__capture(pid, e, 0, EVENT_STACK_MAX);
		dwfl = dwflst_tracker_find_pid(tracker, pid, make, &made);
		assert_non_null(dwfl);
		assert_ptr_equal(dwflst_tracker_find_pid(tracker, pid, refuse, NULL), dwfl);
		assert_int_equal(dwfl_pid(dwfl), -1);
		for (int again = 0; again < 2; again++)
			assert_int_equal(walk(dwfl, e, pid, &c), 0);
		assert_in_range(c.cnt, 5, 60);
		assert_int_equal(c.pcs[0], e->regs[16]);
		assert_true(c.activations[0]);
		assert_false(c.activations[1]);
		assert_int_equal(dwfl_pid(dwfl), pid);
		mod = dwfl_addrmodule(dwfl, c.pcs[0]);
		assert_non_null(mod);
		assert_ptr_equal(dwflst_module_gettracker(mod), tracker);
		libc[i] = dwfl_module_getelf(mod, &bias);
		assert_non_null(libc[i]);
		assert_true(is_named(mod, &c));
		c.max = 2;
		assert_int_equal(walk(dwfl, e, pid, &c), DWARF_CB_ABORT);
		c.max = 0;
		live__kill(pid);
	}
	assert_int_equal(made, 2);
	assert_ptr_equal(libc[0], libc[1]);
	dwflst_tracker_end(tracker);
	free(e);
}

static void foreign_handles_are_refused(void **state)
{
	const uint64_t regs[17] = { 0 };
	Dwflst_Process_Tracker *tracker = dwflst_tracker_begin(&callbacks);
	Dwfl *foreign = dwfl_begin(&callbacks), *own = dwflst_tracker_dwfl_begin(tracker);
	struct chain c = { 0 };

	(void)state;
	assert_int_equal(dwflst_perf_sample_getframes(foreign, NULL, 1, 1, regs, 8, regs, 17,
						      0xff01ff, 2, on_frame, &c),
			 -1);
	assert_int_equal(dwflst_perf_sample_getframes(own, NULL, 1, 1, regs, 8, regs, 16, 0xff01ff,
						      2, on_frame, &c),
			 -1);
	assert_int_equal(c.cnt, 0);
	assert_null(dwflst_tracker_find_pid(tracker, 12345, NULL, NULL));
	assert_null(dwflst_tracker_find_pid(tracker, 12345, refuse, NULL));
	assert_int_equal(dwflst_perf_sample_preferred_regs_mask(EM_X86_64), 0xff01ff);
	dwfl_end(foreign);
	dwfl_end(own);
	dwfl_end(dwflst_tracker_dwfl_begin(tracker));
	dwflst_tracker_dwfl_begin(tracker);
	dwflst_tracker_end(tracker);
	dwflst_tracker_end(NULL);
}

static void machines_are_known(void **state)
{
	(void)state;
	assert_int_equal(dwflst_arch_from_uname("x86_64"), EM_X86_64);
	assert_int_equal(dwflst_arch_from_uname("aarch64"), EM_AARCH64);
	assert_int_equal(dwflst_arch_from_uname("riscv64"), EM_NONE);
	assert_int_equal(dwflst_arch_expected_frame_nregs(EM_X86_64), 17);
	assert_int_equal(dwflst_arch_sp_dwarf_reg(EM_X86_64, false), 7);
	assert_int_equal(dwflst_arch_sp_dwarf_reg(EM_X86_64, true), 4);
	assert_int_equal(dwflst_arch_sp_dwarf_reg(EM_S390, false), -1);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_X86_64, 0xff01ff, false), 7);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_X86_64, 0x1c0, false), 1);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_X86_64, 0x140, false), -2);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_AARCH64, 0, false), 31);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_AARCH64, 0x1fff81fff, false), 25);
	assert_int_equal(dwflst_arch_sp_perf_reg(EM_S390, 0, false), -1);
}

/* Until the file is replaced. */
static void files_are_kept(void **state)
{
	Dwflst_Process_Tracker *tracker = dwflst_tracker_begin(&callbacks);
	char path[128], *name = NULL;
	Elf *elf, *cached = NULL;
	int fd, got;

	snprintf(path, sizeof(path), "%s/true", (char *)*state);
	shell__run("cp /bin/true %s", path);
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(dwflst_tracker_find_cached_elf(tracker, "m", path, &name, &cached), -1);
	assert_true(dwflst_tracker_cache_elf(tracker, "m", path, elf, fd));
	got = dwflst_tracker_find_cached_elf(tracker, "m", path, &name, &cached);
	assert_true(got >= 0);
	assert_ptr_equal(cached, elf);
	assert_string_equal(name, "m");
	free(name);
	elf_end(cached);
	close(got);
	assert_int_equal(dwflst_tracker_find_cached_elf(tracker, "n", path, &name, &cached), -1);
	shell__run("touch -d 2001-01-01 %s", path);
	assert_int_equal(dwflst_tracker_find_cached_elf(tracker, "m", path, &name, &cached), -1);
	assert_false(dwflst_tracker_cache_elf(tracker, "m", path, elf, -1));
	elf_end(elf);
	close(fd);
	dwflst_tracker_end(tracker);
}

RUN_TESTS(cmocka_unit_test(processes_share_files), cmocka_unit_test(foreign_handles_are_refused),
	  cmocka_unit_test(machines_are_known), test_with_folder(files_are_kept))
