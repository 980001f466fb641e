// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/usercopy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/capture_private.h"
#include "capture/feature.h"
#include "capture/native.h"

/* ---- the kernel's machine code ------------------------------------------------------------------
 */

bool usercopy__takes_lock(const struct usercopy_code *copy, const struct usercopy_code *check,
			  const struct usercopy_places *p)
{
	return native__calls(copy, p->syms[USERCOPY_CHECK].addr) &&
	       native__calls(check, p->syms[USERCOPY_LOOK_UP].addr) &&
	       !native__loads(check, p->disabled_off);
}

/* Loads a program that calls bpf_probe_read_kernel(map, USERCOPY_CODE_MAX, ctx[0]). It does not
 * depend on /proc/kcore, which not every machine has. */
static int usercopy_load_reader(int map_fd)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_1 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map_fd },
		{ 0 }, /* its second half */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_2,
		  .imm = USERCOPY_CODE_MAX },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "usercopy", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	return fd < 0 ? -errno : fd;
}

static int usercopy_run_reader(int prog_fd, int map_fd, struct usercopy_code *code)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &code->addr,
		    .ctx_size_in = sizeof(code->addr));

	if (bpf_prog_test_run_opts(prog_fd, &run))
		return -errno;
	if (run.retval)
		return (int)run.retval;
	return bpf_map_lookup_elem(map_fd, &(uint32_t){ 0 }, code->bytes) ? -errno : 0;
}

static int usercopy_read_code(const struct ksym *fn, struct usercopy_code *code)
{
	int map_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "usercopy", sizeof(uint32_t),
				    USERCOPY_CODE_MAX, 1, NULL);
	int prog_fd = map_fd < 0 ? -errno : usercopy_load_reader(map_fd);
	int err;

	code->addr = fn->addr;
	code->sz = fn->end - fn->addr;
	if (code->sz > USERCOPY_CODE_MAX)
		code->sz = USERCOPY_CODE_MAX;
	err = prog_fd < 0 ? prog_fd : usercopy_run_reader(prog_fd, map_fd, code);
	if (prog_fd >= 0)
		close(prog_fd);
	if (map_fd >= 0)
		close(map_fd);
	return err;
}

int usercopy__test(struct features *f)
{
	struct usercopy_places p = {
		.syms = {
			[USERCOPY_COPY] = { .name = "copy_from_user_nofault" },
			[USERCOPY_CHECK] = { .name = "__check_object_size" },
			[USERCOPY_LOOK_UP] = { .name = "find_vmap_area" },
		},
	};
	int64_t off = features__member(f, "task_struct", "pagefault_disabled");
	int err = off < 0 ? -ENOENT : ksyms__find("/proc/kallsyms", p.syms, USERCOPY_SYM_CNT);
	struct usercopy_code copy, check;

	if (err || !p.syms[USERCOPY_COPY].end || !p.syms[USERCOPY_CHECK].end)
		return err;
	p.disabled_off = (uint32_t)off;
	err = usercopy_read_code(&p.syms[USERCOPY_COPY], &copy);
	if (!err)
		err = usercopy_read_code(&p.syms[USERCOPY_CHECK], &check);
	return err ? err : usercopy__takes_lock(&copy, &check, &p);
}

/* ---- bounce buffers -----------------------------------------------------------------------------
 */

static bool usercopy_reads_stacks(const struct capture *c)
{
	for (size_t i = 0; i < c->options.probe_cnt; i++) {
		if (c->options.probes[i].stacks & PROBE_USER)
			return true;
	}
	return false;
}

/* Returns true on kernels since 6.4, which all have the fix. Their symbols need not be read, which
 * takes 30 ms. */
static bool usercopy_is_fixed(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 4));
}

static bool usercopy_needs_bounce(struct features *f)
{
	int locks = usercopy_is_fixed() ? 0 : usercopy__test(f);

	if (locks > 0)
		log__warn(
			"this kernel can lock up when a BPF program reads user memory (fixed by "
			"\"mm: Fix copy_from_user_nofault()\", Linux 6.4 and stable kernels "
			"since): stacks are copied by a safe method, which takes a little longer");
	else if (locks < 0)
		log__debug("cannot determine whether this kernel can lock up when user memory is "
			   "read: %s",
			   strerror(-locks));
	return locks > 0;
}

int capture__set_bounce(struct capture *c, struct features *f)
{
	struct capture_config *cfg = &c->skel->rodata->cfg;

	cfg->bounce = c->options.bounce || (usercopy_reads_stacks(c) && usercopy_needs_bounce(f));
	return cfg->bounce ? bpf_map__set_max_entries(c->skel->maps.bounces,
						      (uint32_t)c->cpu_cnt * CAPTURE_LEVELS)
			   : 0;
}

/* Adds a bounce buffer. With the map's header it is smaller than a page, which the kernel allocates
 * without vmalloc. */
static int usercopy_add_bounce(struct capture *c, uint32_t idx)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bounce", sizeof(uint32_t), CAPTURE_BOUNCE_SZ,
				1, NULL);
	int err = fd < 0 ? -errno : 0;

	if (!err && bpf_map_update_elem(bpf_map__fd(c->skel->maps.bounces), &idx, &fd, BPF_ANY))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int capture__fill_bounce(struct capture *c)
{
	int err = 0;

	if (!c->skel->rodata->cfg.bounce)
		return 0;
	for (uint32_t i = 0; i < c->cpu_cnt * CAPTURE_LEVELS && !err; i++)
		err = usercopy_add_bounce(c, i);
	if (err)
		log__error("cannot make a bounce buffer: %s", strerror(-err));
	return err;
}
