// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/probe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define ITEM_MAX 128 /* bytes; no right item is nearly as long */

const struct probe probes[] = {
	{ .name = "profile",
	  .stacks = PROBE_USER,
	  .param = PROBE_HZ,
	  .param_default = 99,
	  .param_max = 9999,
	  .usage = "profile[:S][:HZ]",
	  .help = "what runs on each CPU, HZ times a second (default u, 99)" },
	{ .name = "switch",
	  .stacks = PROBE_KERNEL,
	  .param = PROBE_DURATION,
	  .param_default = 0,
	  .param_max = 3600ull * 1000 * 1000 * 1000,
	  .usage = "switch[:S][:DUR]",
	  .help = "each slice on a CPU and the wait after it; waits under DUR are joined (default "
		  "k, 0s)" },
	{ .name = NULL },
};

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

/* Where a mistake is explained, and the item that it is in. */
struct explain {
	char *why;
	size_t why_sz;
	const char *item;
};

static __attribute__((format(printf, 2, 3))) int wrong(const struct explain *x, const char *fmt,
						       ...)
{
	int n = snprintf(x->why, x->why_sz, "probe '%s': ", x->item);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < x->why_sz)
		vsnprintf(x->why + n, x->why_sz - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int unknown_probe(const struct explain *x)
{
	char names[ITEM_MAX] = "";
	size_t used = 0;

	for (const struct probe *p = probes; p->name && used < sizeof(names); p++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 p == probes ? "" : ", ", p->name);
	return wrong(x, "%s; there are: %s", *x->item ? "unknown" : "empty", names);
}

static bool parse_stacks(const char *part, unsigned *stacks)
{
	for (size_t i = 0; i < sizeof(stack_specs) / sizeof(*stack_specs); i++) {
		if (!strcmp(part, stack_specs[i].text)) {
			*stacks = stack_specs[i].stacks;
			return true;
		}
	}
	return false;
}

static int parse_hz(const struct explain *x, const struct probe *p, const char *part, uint64_t *hz)
{
	if (part[strspn(part, "0123456789")] != '\0')
		return wrong(x, "'%s' is neither stacks (u, k, uk, ku, n) nor HZ", part);
	if (parse__u64(part, hz) || *hz < 1 || *hz > p->param_max)
		return wrong(x, "HZ is 1 to %llu", (unsigned long long)p->param_max);
	return 0;
}

static int parse_wait(const struct explain *x, const struct probe *p, const char *part,
		      uint64_t *ns)
{
	int err = parse__duration(part, ns);

	if (err == -EINVAL)
		return wrong(x,
			     "'%s' is neither stacks (u, k, uk, ku, n) nor a time such as 0s, "
			     "500us, 10ms",
			     part);
	if (err || *ns > p->param_max)
		return wrong(x, "the time is at most 1h");
	return 0;
}

static int parse_param(const struct explain *x, struct probe_choice *choice, const char *part)
{
	switch (choice->probe->param) {
	case PROBE_HZ: return parse_hz(x, choice->probe, part, &choice->param);
	case PROBE_DURATION: return parse_wait(x, choice->probe, part, &choice->param);
	case PROBE_NO_PARAM: break;
	}
	return wrong(x, "'%s' is not stacks (u, k, uk, ku, n)", part);
}

static int parse_parts(const struct explain *x, struct probe_choice *choice, char *parts)
{
	bool has_stacks = false, has_param = false;

	for (char *part; (part = strsep(&parts, ":")) != NULL;) {
		unsigned stacks;
		int err;

		if (!*part && parts) /* switch::10ms leaves the stacks as they are */
			continue;
		if (!*part)
			return wrong(x, "nothing follows the last ':'; it is written %s",
				     choice->probe->usage);
		if (parse_stacks(part, &stacks)) {
			if (has_stacks)
				return wrong(x, "says twice which stacks");
			has_stacks = true;
			choice->stacks = stacks;
			continue;
		}
		if (has_param)
			return wrong(x, "'%s' is one part too many; it is written %s", part,
				     choice->probe->usage);
		has_param = true;
		err = parse_param(x, choice, part);
		if (err)
			return err;
	}
	return 0;
}

static int parse_item(const struct explain *x, struct probe_choice *choice)
{
	char parts[ITEM_MAX], *rest = parts, *name;

	if (strlen(x->item) >= sizeof(parts))
		return wrong(x, "too long");
	strcpy(parts, x->item);
	name = strsep(&rest, ":");
	for (const struct probe *p = probes; p->name; p++) {
		if (!strcmp(p->name, name)) {
			*choice = (struct probe_choice){ p, p->stacks, p->param_default };
			return parse_parts(x, choice, rest);
		}
	}
	return unknown_probe(x);
}

static bool chosen(const struct probe_choice *choices, size_t cnt, const struct probe *p)
{
	for (size_t i = 0; i < cnt; i++) {
		if (choices[i].probe == p)
			return true;
	}
	return false;
}

int probes__parse(const char *text, struct probe_choice *out, char *why, size_t why_sz)
{
	size_t cnt = 0;

	for (const char *end; text; text = *end ? end + 1 : NULL) {
		char item[2 * ITEM_MAX];
		struct explain x = { why, why_sz, item };
		int err;

		end = strchrnul(text, ',');
		snprintf(item, sizeof(item), "%.*s",
			 (int)(end - text < 2 * ITEM_MAX ? end - text : 2 * ITEM_MAX), text);
		if (cnt == PROBE_CHOICE_MAX)
			return wrong(&x, "one probe too many");
		err = parse_item(&x, &out[cnt]);
		if (err)
			return err;
		if (chosen(out, cnt, out[cnt].probe))
			return wrong(&x, "named twice");
		cnt++;
	}
	return (int)cnt;
}
