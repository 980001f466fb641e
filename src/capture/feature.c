// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/feature.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strcopy.h"
#include "capture/ktypes.h"

#define NAME_MAX_SZ 128
#define ANY_WAY	    "any"
#define TYPES_FILE  "/sys/kernel/btf/vmlinux"

struct features {
	struct btf *btf; /* private to feature_types() */
	int err;	 /* why there are none (already logged) */
	int trampolines; /* 0: not tried, 1: the kernel attaches fentry, else -errno */
	char why[256];
};

/* ---- the table ----------------------------------------------------------------------------------
 */

/* Versions that introduced a hook and options that enable it; only for messages. */
static const struct {
	const char *name, *since, *config;
} origins[] = {
	{ "rss_stat", "5.5", NULL },
	{ "block_getrq", NULL, "CONFIG_BLOCK" },
	{ "sock_send_length", "6.3", "CONFIG_NET" },
	{ "sock_recv_length", "6.3", "CONFIG_NET" },
};

/* Programs that a probe can do without, and the helper that they need; NULL: they need their hook.
 */
static const struct {
	const char *program, *helper;
} optional[] = {
	{ "switch__rows_sleepable", "BPF_FUNC_copy_from_user_task" },
	{ "rss__release", NULL },
	{ "net__tp__inet6_sendmsg_begins", NULL }, /* CONFIG_IPV6 */
	{ "net__tp__inet6_recvmsg_begins", NULL },
	{ "net__fexit__inet6_sendmsg", NULL },
	{ "net__fexit__inet6_sendmsg_begins", NULL },
	{ "net__fexit__inet6_recvmsg", NULL },
	{ "net__fexit__inet6_recvmsg_begins", NULL },
	{ "net__fexit__inet_sendpage", NULL }, /* up to 6.4 */
	{ "net__fexit__inet_sendpage_begins", NULL },
};

#define CNT(a) (sizeof(a) / sizeof(*(a)))

static void feature_explain(struct features *f, const char *what, const char *name)
{
	size_t sz = sizeof(f->why), at;

	at = (size_t)snprintf(f->why, sz, "the kernel has no %s %s", what, name);
	for (size_t i = 0; i < CNT(origins) && at < sz; i++) {
		if (strcmp(origins[i].name, name))
			continue;
		if (origins[i].since)
			at += (size_t)snprintf(f->why + at, sz - at, " (it came with Linux %s)",
					       origins[i].since);
		if (origins[i].config && at < sz)
			snprintf(f->why + at, sz - at, "; build it with %s", origins[i].config);
	}
}

/* ---- types --------------------------------------------------------------------------------------
 */

/* Returns NULL and sets errno; kernels before 6.16 cannot map it. */
static struct btf *feature_map_types(void)
{
	int fd = open(TYPES_FILE, O_RDONLY | O_CLOEXEC);
	void *types = MAP_FAILED;
	struct btf *btf = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		types = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (types != MAP_FAILED) {
		btf = btf__new(types, (uint32_t)st.st_size);
		munmap(types, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	return btf;
}

/*
 * Returns NULL and sets errno on failure. Takes three times as long as mapping, because the kernel
 * returns single pages and libbpf copies them once more. Does not use btf__load_vmlinux_btf():
 * whatever fails with this file, often for lack of memory, it searches for others and returns
 * ESRCH.
 */
static struct btf *feature_load_types(void)
{
	struct btf *btf = feature_map_types();

	return btf ? btf : btf__parse(TYPES_FILE, NULL);
}

static void feature_say_no_types(int err)
{
	if (err == ENOMEM)
		log__error("cannot read the kernel's types (" TYPES_FILE "): %s; free "
			   "memory, or raise the limit (ulimit -v), and try again",
			   strerror(err));
	else
		log__error("cannot read the kernel's types (" TYPES_FILE "): %s", strerror(err));
}

/* Loads the types at the first query, because that takes a tenth of a start. Returns NULL if there
 * are none. */
static const struct btf *feature_types(struct features *f)
{
	if (f->btf || f->err)
		return f->btf;
	f->btf = feature_load_types();
	if (!f->btf) {
		f->err = -errno;
		feature_say_no_types(errno);
	}
	return f->btf;
}

static const struct btf_type *feature_find_type(struct features *f, const char *name, uint32_t kind)
{
	const struct btf *btf = feature_types(f);
	int id = btf ? btf__find_by_name_kind(btf, name, kind) : 0;

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static bool feature_has_value(struct features *f, const char *type, const char *name)
{
	const struct btf_type *t = feature_find_type(f, type, BTF_KIND_ENUM);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		if (!strcmp(btf__name_by_offset(f->btf, btf_enum(t)[i].name_off), name))
			return true;
	}
	return false;
}

static bool feature_has_helper(struct features *f, const char *name)
{
	return feature_has_value(f, "bpf_func_id", name);
}

bool features__uprobe_multi(struct features *f)
{
	return feature_has_value(f, "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI");
}

/* Returns the tracepoint's prototype, with void * for the program's context first; NULL if there is
 * no such tracepoint. */
static const struct btf_type *feature_tracepoint(struct features *f, const char *name)
{
	char type[NAME_MAX_SZ];
	const struct btf_type *t;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	t = feature_find_type(f, type, BTF_KIND_TYPEDEF);
	t = t ? btf__type_by_id(f->btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(f->btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

int64_t features__member(struct features *f, const char *type, const char *name)
{
	const struct btf *btf = feature_types(f);

	return btf ? ktypes__member_of(btf, type, name) : -1;
}

size_t features__tracepoint_args(struct features *f, const char *name)
{
	const struct btf_type *proto = feature_tracepoint(f, name);

	return proto ? btf_vlen(proto) - 1u : 0;
}

size_t features__function_args(struct features *f, const char *name)
{
	const struct btf_type *t = feature_find_type(f, name, BTF_KIND_FUNC);

	t = t ? btf__type_by_id(f->btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 0;
}

/* ---- trials -------------------------------------------------------------------------------------
 */

/* Returns what attaching one program gives: some kernels have the functions in their types and
 * refuse all trampolines. */
static int feature_try_trampoline(const struct btf *btf)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf__find_by_name_kind(btf, "vfs_read", BTF_KIND_FUNC), prog, link, err = 0;
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (uint32_t)(id > 0 ? id : 0));

	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "trial", "GPL", nothing, CNT(nothing), &opts);
	if (prog < 0)
		return -errno;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		err = -errno;
	else
		close(link);
	close(prog);
	return err ? err : 1;
}

static bool feature_has_function(struct features *f, const char *name)
{
	if (!feature_find_type(f, name, BTF_KIND_FUNC)) {
		feature_explain(f, "function", name);
		return false;
	}
	if (!f->trampolines)
		f->trampolines = feature_try_trampoline(f->btf);
	if (f->trampolines == 1)
		return true;
	snprintf(f->why, sizeof(f->why),
		 "the kernel does not attach programs to functions (fentry): %s",
		 strerror(-f->trampolines));
	return false;
}

static bool feature_has_tracepoint(struct features *f, const char *name)
{
	if (feature_tracepoint(f, name))
		return true;
	feature_explain(f, "tracepoint", name);
	return false;
}

static bool feature_has_uprobes(struct features *f, const char *name)
{
	(void)name;
	if (!access("/sys/bus/event_source/devices/uprobe", F_OK))
		return true;
	snprintf(f->why, sizeof(f->why),
		 "the kernel has no uprobes; build it with CONFIG_UPROBE_EVENTS");
	return false;
}

static bool feature_has_kprobes(struct features *f, const char *name)
{
	(void)name;
	if (!access("/sys/bus/event_source/devices/kprobe", F_OK))
		return true;
	snprintf(f->why, sizeof(f->why),
		 "the kernel has no kprobes; build it with CONFIG_KPROBE_EVENTS, or use a "
		 "tracepoint");
	return false;
}

static bool feature_has_sessions(struct features *f, const char *name)
{
	if (!feature_has_value(f, "bpf_attach_type", "BPF_TRACE_UPROBE_SESSION")) {
		feature_explain(f, "attach type", "BPF_TRACE_UPROBE_SESSION");
		return false;
	}
	return feature_has_uprobes(f, name);
}

static const struct {
	const char *section;
	bool (*has)(struct features *, const char *name);
} hooks[] = {
	{ "tp_btf/", feature_has_tracepoint }, { "fentry/", feature_has_function },
	{ "fexit/", feature_has_function },    { "uprobe/session", feature_has_sessions },
	{ "uprobe", feature_has_uprobes },     { "kprobe", feature_has_kprobes },
};

bool features__has_hook(struct features *f, const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);

	section += *section == '?';
	for (size_t i = 0; i < CNT(hooks); i++) {
		size_t len = strlen(hooks[i].section);

		if (!strncmp(section, hooks[i].section, len))
			return hooks[i].has(f, section + len);
	}
	return true;
}

bool features__leaves_out(struct features *f, const struct bpf_program *prog)
{
	for (size_t i = 0; i < CNT(optional); i++) {
		if (strcmp(optional[i].program, bpf_program__name(prog)))
			continue;
		return optional[i].helper ? !feature_has_helper(f, optional[i].helper)
					  : !features__has_hook(f, prog);
	}
	return false;
}

/* ---- probes -------------------------------------------------------------------------------------
 */

static const char *feature_after(const char *name, const char *part)
{
	size_t len = strlen(part);

	return !strncmp(name, part, len) && !strncmp(name + len, "__", 2) ? name + len + 2 : NULL;
}

bool program__is_of(const char *program, const struct probe *p, const char *way)
{
	const char *rest = feature_after(program, p->name);

	return rest && (!way || feature_after(rest, way) || feature_after(rest, ANY_WAY));
}

static bool feature_can(struct features *f, const struct bpf_object *obj, const struct probe *p,
			const char *way)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		if (program__is_of(bpf_program__name(prog), p, way) &&
		    !features__leaves_out(f, prog) && !features__has_hook(f, prog))
			return false;
	}
	return true;
}

bool features__preempt_count(struct features *f, struct preempt_count *count)
{
	return feature_types(f) && preempt_count__find(f->btf, count);
}

/* Returns true if the kernel has what the probe needs besides its hooks. */
static bool feature_has_needs(struct features *f, const struct probe *p)
{
	struct preempt_count count;

	if (!p->tells_interrupts || features__preempt_count(f, &count))
		return true;
	snprintf(f->why, sizeof(f->why),
		 "the kernel's types do not show whether an interrupt or a thread runs; build it "
		 "with CONFIG_FAIR_GROUP_SCHED");
	return false;
}

int features__choose(struct features *f, const struct bpf_object *obj, const struct probe *p,
		     const char **way)
{
	char first[sizeof(f->why)] = "";

	*way = NULL;
	if (!feature_has_needs(f, p))
		return -ENOTSUP;
	if (!p->ways[0])
		return feature_can(f, obj, p, NULL) ? 0 : -ENOTSUP;
	for (size_t i = 0; i < PROBE_WAY_MAX && p->ways[i]; i++) {
		*way = p->ways[i];
		if (feature_can(f, obj, p, *way))
			return 0;
		if (i == 0)
			str__copy(first, sizeof(first), f->why);
	}
	str__copy(f->why, sizeof(f->why), first);
	return -ENOTSUP;
}

const char *features__why(const struct features *f)
{
	return f->why;
}

int features__err(const struct features *f)
{
	return f->err;
}

/* Checks for the newest helper that all programs need. */
bool features__too_old(struct features *f)
{
	if (!feature_types(f) || feature_has_helper(f, "BPF_FUNC_task_pt_regs"))
		return false;
	log__error("the kernel is too old: it has no BPF helper bpf_task_pt_regs, which came with "
		   "Linux 5.15");
	return true;
}

struct features *features__new(void)
{
	return calloc(1, sizeof(struct features));
}

void features__free(struct features *f)
{
	if (!f)
		return;
	btf__free(f->btf);
	free(f);
}
