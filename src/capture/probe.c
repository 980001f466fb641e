// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/strcopy.h"
#include "bpf/allocations.h"

#define ITEM_MAX 128 /* bytes; no valid item without a path is nearly as long */
#define NAMES_SZ 256

const struct probe probes[] = {
	{ .name = "profile",
	  .can_thin = true,
	  .stacks = PROBE_USER,
	  .param = PROBE_HZ,
	  .param_default = 99,
	  .param_max = 9999,
	  .usage = "profile[:S][:HZ]",
	  .help = "the code that runs on each CPU, HZ times a second (default u, 99)" },
	{ .name = "switch",
	  .can_thin = true,
	  .stacks = PROBE_KERNEL,
	  .param = PROBE_DURATION,
	  .param_default = 0,
	  .param_max = 3600ull * 1000 * 1000 * 1000,
	  .usage = "switch[:S][:DUR]",
	  .help = "each slice of time on a CPU and the wait after it; slices around a wait shorter "
		  "than DUR are joined (default k, 0s)" },
	{ .name = "exec",
	  .stacks = PROBE_USER,
	  .usage = "exec[:S]",
	  .help = "programs that start, processes that fork and end (default u)" },
	{ .name = "block",
	  .stacks = 0,
	  .usage = "block[:S]",
	  .help = "requests to disks: reads, writes, flushes, discards (default n)" },
	{ .name = "rss",
	  .can_thin = true,
	  .stacks = PROBE_USER,
	  .param = PROBE_EVERY,
	  .param_default = 29,
	  .param_max = 1000000,
	  .usage = "rss[:S][:N]",
	  .help = "memory of a process, at 1 of N changes and at large ones (default u, 29; 0: "
		  "all)" },
	{ .name = "vfs",
	  .can_thin = true,
	  .ways = { "fentry", "syscalls" },
	  .usage = "vfs[:S]",
	  .help = "reads and writes of files and pipes, with their bytes, and calls that open, "
		  "sync, rename, remove or stat files (default n)" },
	{ .name = "fault",
	  .can_thin = true,
	  .ways = { "tp", "perf" },
	  .stacks = PROBE_USER,
	  .param = PROBE_EVERY,
	  .param_default = 29,
	  .param_max = 1000000,
	  .usage = "fault[:S][:N]",
	  .help = "page faults of user code, 1 of N, with the address (default u, 29; 0: all)" },
	{ .name = "usdt",
	  .stacks = PROBE_USER,
	  .param = PROBE_PATH,
	  .usage = "usdt[:S]:PATH",
	  .help = "spans of programs that use stacks_tracing.h; PATH is a program or library, one "
		  "per usdt (default u)" },
	{ .name = "wake",
	  .can_thin = true,
	  .tells_interrupts = true,
	  .stacks = PROBE_USER,
	  .usage = "wake[:S]",
	  .help = "threads that are woken, with the stack of the waker (default u)" },
	{ .name = "net",
	  .can_thin = true,
	  .ways = { "tp", "syscalls", "fexit" },
	  .usage = "net[:S]",
	  .help = "sends and receives of TCP, UDP and Unix sockets (default n)" },
	{ .name = "tcp",
	  .ways = { "fexit", "syscalls" },
	  .tells_interrupts = true,
	  .stacks = PROBE_USER,
	  .usage = "tcp[:S]",
	  .help = "TCP connections made, accepted and reset, and retransmissions (default u)" },
	{ .name = "alloc",
	  .ways = { "session", "pair" },
	  .needs_processes = true,
	  .stacks = PROBE_USER,
	  .param = PROBE_BYTES,
	  .param_default = 512 << 10,
	  .param_max = ALLOC_INTERVAL_MAX,
	  .usage = "alloc[:S][:BYTES]",
	  .help = "blocks that the chosen processes allocate, one sample every BYTES, and when "
		  "they are freed (default u, 512K; 0: all)" },
	{ .name = "uprobe",
	  .stacks = PROBE_USER,
	  .param = PROBE_TARGET,
	  .usage = "uprobe[:S]:PATH:FUNCTION[=ARGS][?TESTS]",
	  .help = "calls of a function; ARGS are up to four letters for its arguments: d int, "
		  "u unsigned, l long, p pointer, s text, - none; TESTS such as arg1>4096&arg2=x* "
		  "choose which (default u)" },
	{ .name = "call",
	  .stacks = PROBE_USER,
	  .param = PROBE_TARGET,
	  .usage = "call[:S]:PATH:FUNCTION[=ARGS[+RESULT]][?TESTS]",
	  .help = "calls of a function from entry to return, with their time and result; not in "
		  "Go programs (default u)" },
	{ .name = "tracepoint",
	  .stacks = PROBE_USER,
	  .param = PROBE_TARGET,
	  .usage = "tracepoint[:S]:GROUP:NAME[=FIELD+FIELD][?TESTS]",
	  .help = "a tracepoint of the kernel, with up to four fields (default u, the first "
		  "ones)" },
	{ .name = "sdt",
	  .stacks = PROBE_USER,
	  .param = PROBE_TARGET,
	  .usage = "sdt[:S]:PATH:PROVIDER:NAME[=ARGS][?TESTS]",
	  .help = "a static probe (USDT) of a program, with up to four arguments as numbers, or "
		  "as ARGS of uprobe says (default u)" },
	{ .name = "span",
	  .stacks = PROBE_USER,
	  .param = PROBE_TARGET,
	  .usage = "span[:S]:BEGIN[=ARGS][?TESTS]..END[=ARGS][?TESTS]",
	  .help = "the time from one function or static probe to another on the same thread, or "
		  "with the same argument k; the first text s of BEGIN names it (default u)" },
	{ .name = "kprobe",
	  .stacks = PROBE_USER | PROBE_KERNEL,
	  .param = PROBE_TARGET,
	  .usage = "kprobe[:S]:FUNCTION[=ARGS][?TESTS]",
	  .help = "calls of a function of the kernel, as uprobe; s is a text of the kernel, t one "
		  "of the program (default uk)" },
	{ .name = NULL },
};

#define ALL "all"

static const struct {
	const char *text;
	unsigned stacks;
} stack_specs[] = {
	{ "u", PROBE_USER },
	{ "k", PROBE_KERNEL },
	{ "uk", PROBE_USER | PROBE_KERNEL },
	{ "ku", PROBE_USER | PROBE_KERNEL },
	{ "n", 0 },
};

/* The buffer for the explanation of a mistake, and the item that has it. */
struct explain {
	char *why;
	size_t why_sz;
	const char *item;
};

static __attribute__((format(printf, 2, 3))) int probe_wrong(const struct explain *x,
							     const char *fmt, ...)
{
	int n = snprintf(x->why, x->why_sz, "probe '%.*s': ", ITEM_MAX, x->item);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < x->why_sz)
		vsnprintf(x->why + n, x->why_sz - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int unknown_probe(const struct explain *x)
{
	char names[NAMES_SZ] = "";
	size_t used = 0;

	for (const struct probe *p = probes; p->name && used < sizeof(names); p++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s, ", p->name);
	return probe_wrong(x, "%s; the probes are: %s" ALL, *x->item ? "unknown" : "empty", names);
}

static bool probe_parse_stacks(const char *part, unsigned *stacks)
{
	for (size_t i = 0; i < sizeof(stack_specs) / sizeof(*stack_specs); i++) {
		if (!strcmp(part, stack_specs[i].text)) {
			*stacks = stack_specs[i].stacks;
			return true;
		}
	}
	return false;
}

static int probe_parse_hz(const struct explain *x, const struct probe *p, const char *part,
			  uint64_t *hz)
{
	if (part[strspn(part, "0123456789")] != '\0')
		return probe_wrong(x, "'%s' is not stacks (u, k, uk, ku, n) or HZ", part);
	if (parse__u64(part, hz) || *hz < 1 || *hz > p->param_max)
		return probe_wrong(x, "HZ is 1 to %llu", (unsigned long long)p->param_max);
	return 0;
}

static int probe_parse_wait(const struct explain *x, const struct probe *p, const char *part,
			    uint64_t *ns)
{
	int err = parse__duration(part, ns);

	if (err == -EINVAL)
		return probe_wrong(
			x, "'%s' is not stacks (u, k, uk, ku, n) or a time such as 0s, 500us, 10ms",
			part);
	if (err || *ns > p->param_max)
		return probe_wrong(x, "the time is at most 1h");
	return 0;
}

static int probe_parse_every(const struct explain *x, struct probe_choice *choice, const char *part)
{
	if (part[strspn(part, "0123456789")] != '\0')
		return probe_wrong(x, "'%s' is not stacks (u, k, uk, ku, n) or N (1 of N)", part);
	if (parse__u64(part, &choice->param) || choice->param > choice->probe->param_max)
		return probe_wrong(x, "N is 0 (all) to %llu",
				   (unsigned long long)choice->probe->param_max);
	return 0;
}

static int probe_parse_bytes(const struct explain *x, struct probe_choice *choice, const char *part)
{
	int err = parse__size(part, &choice->param);

	if (err == -EINVAL)
		return probe_wrong(x, "'%s' is not stacks (u, k, uk, ku, n) or a size such as 64K",
				   part);
	if (err || choice->param > choice->probe->param_max)
		return probe_wrong(x, "BYTES is 0 (all) to %lluM",
				   (unsigned long long)choice->probe->param_max >> 20);
	return 0;
}

static int probe_parse_param(const struct explain *x, struct probe_choice *choice, const char *part)
{
	switch (choice->probe->param) {
	case PROBE_HZ: return probe_parse_hz(x, choice->probe, part, &choice->param);
	case PROBE_DURATION: return probe_parse_wait(x, choice->probe, part, &choice->param);
	case PROBE_EVERY: return probe_parse_every(x, choice, part);
	case PROBE_BYTES: return probe_parse_bytes(x, choice, part);
	case PROBE_PATH:
	case PROBE_TARGET:
	case PROBE_NO_PARAM: break;
	}
	return probe_wrong(x, "'%s' is not stacks (u, k, uk, ku, n)", part);
}

static int probe_parse_parts(const struct explain *x, struct probe_choice *choice, char *parts)
{
	bool has_stacks = false, has_param = false;

	for (char *part; (part = strsep(&parts, ":")) != NULL;) {
		unsigned stacks;
		int err;

		if (!*part && parts) /* switch::10ms keeps the default stacks */
			continue;
		if (!*part)
			return probe_wrong(x, "nothing follows the last ':'; expected %s",
					   choice->probe->usage);
		if (probe_parse_stacks(part, &stacks)) {
			if (has_stacks)
				return probe_wrong(x, "the stacks are given twice");
			has_stacks = true;
			choice->stacks = stacks;
			continue;
		}
		if (has_param)
			return probe_wrong(x, "unexpected part '%s'; expected %s", part,
					   choice->probe->usage);
		has_param = true;
		err = probe_parse_param(x, choice, part);
		if (err)
			return err;
	}
	return 0;
}

static bool probe_takes_path(const struct probe *p)
{
	return p->param == PROBE_PATH || p->param == PROBE_TARGET;
}

/* Parses S:PATH, :PATH, PATH:S or PATH. The path may contain colons; a target ends with a name,
 * which may look like stacks. Returns the path. */
static char *probe_cut_stacks(struct probe_choice *choice, char *rest)
{
	char *colon = strchrnul(rest, ':'), *last = strrchr(rest, ':');
	size_t len = (size_t)(colon - rest);

	for (size_t i = 0; *colon && i < sizeof(stack_specs) / sizeof(*stack_specs); i++) {
		if (strlen(stack_specs[i].text) == len &&
		    !strncmp(rest, stack_specs[i].text, len)) {
			choice->stacks = stack_specs[i].stacks;
			return colon + 1;
		}
	}
	if (last && choice->probe->param == PROBE_PATH &&
	    probe_parse_stacks(last + 1, &choice->stacks))
		*last = '\0';
	return rest + (*rest == ':');
}

/* Parses what follows the name of a probe that takes a path. */
static int probe_parse_path(const struct explain *x, struct probe_choice *choice, char *rest)
{
	const char *path = rest ? probe_cut_stacks(choice, rest) : NULL;

	if (!path || !*path)
		return probe_wrong(x, "a path is missing; expected %s", choice->probe->usage);
	choice->path = path;
	return 0;
}

static int probe_parse_rest(const struct explain *x, struct probe_choice *choice, char *rest)
{
	char parts[ITEM_MAX], *at = rest ? parts : NULL;

	if (probe_takes_path(choice->probe))
		return probe_parse_path(x, choice, rest);
	if (strlen(x->item) >= sizeof(parts))
		return probe_wrong(x, "too long");
	str__copy(parts, sizeof(parts), rest ? rest : "");
	return probe_parse_parts(x, choice, at);
}

/* Returns true for PATH:PROVIDER:NAME, also after stacks. The path of a file with spans must not
 * end like that. */
static bool names_static_probe(const char *rest)
{
	const char *name = strrchr(rest, ':'), *provider = name;
	unsigned stacks;

	if (!name || probe_parse_stacks(name + 1, &stacks))
		return false;
	while (provider > rest && provider[-1] != ':')
		provider--;
	return provider > rest + 1 && !strchr(provider, '/') && strchr(rest, '/') &&
	       !probe_parse_stacks(strndupa(provider, (size_t)(name - provider)), &stacks);
}

/* Returns the probe that the item means: usdt has two forms. */
static const struct probe *probe_meant_by(const struct probe *p, const char *rest)
{
	if (strcmp(p->name, "usdt") != 0 || !rest || !names_static_probe(rest))
		return p;
	while (strcmp(p->name, "sdt") != 0)
		p++;
	return p;
}

static int probe_parse_item(const struct explain *x, struct probe_choice *choice, char *item)
{
	size_t len = strcspn(item, ":");

	for (const struct probe *p = probes; p->name; p++) {
		if (strlen(p->name) != len || strncmp(p->name, item, len))
			continue;
		p = probe_meant_by(p, item[len] ? item + len + 1 : NULL);
		*choice = (struct probe_choice){ .probe = p,
						 .stacks = p->stacks,
						 .param = p->param_default };
		return probe_parse_rest(x, choice, item[len] ? item + len + 1 : NULL);
	}
	return unknown_probe(x);
}

static bool probe_chosen(const struct probe_choice *choices, size_t cnt, const struct probe *p)
{
	for (size_t i = 0; i < cnt; i++) {
		if (choices[i].probe == p)
			return true;
	}
	return false;
}

static int probe_add_all(struct probe_choice *out, size_t cnt)
{
	for (const struct probe *p = probes; p->name && cnt < PROBE_CHOICE_MAX; p++) {
		if (probe_takes_path(p) || p->needs_processes || probe_chosen(out, cnt, p))
			continue;
		out[cnt++] = (struct probe_choice){
			.probe = p, .stacks = p->stacks, .param = p->param_default, .optional = true
		};
	}
	return (int)cnt;
}

/* Parses one item. Returns 0, 1 for `all`, or -EINVAL. */
static int probe_add_item(const struct explain *x, char *item, struct probe_choice *out, size_t cnt)
{
	int err;

	if (!strcmp(item, ALL))
		return 1;
	if (cnt == PROBE_CHOICE_MAX)
		return probe_wrong(x, "too many probes");
	err = probe_parse_item(x, &out[cnt], item);
	if (!err && !probe_takes_path(out[cnt].probe) && probe_chosen(out, cnt, out[cnt].probe))
		err = probe_wrong(x, "named twice");
	return err;
}

int probes__parse(char *text, struct probe_choice *out, char *why, size_t why_sz)
{
	size_t cnt = 0;
	bool all = false;

	for (char *item; (item = strsep(&text, ",")) != NULL;) {
		struct explain x = { why, why_sz, item };
		int added = probe_add_item(&x, item, out, cnt);

		if (added < 0)
			return added;
		all |= added == 1;
		cnt += added == 0;
	}
	return all ? probe_add_all(out, cnt) : (int)cnt;
}
