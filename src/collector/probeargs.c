// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/probeargs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Names of fields, and texts in which each byte becomes \u00XX. */
#define JSON_SZ (EVENT_ARG_CNT * (64 + 6 * EVENT_ARG_TEXT_SZ))

struct json {
	char text[JSON_SZ];
	size_t sz;
};

static __attribute__((format(printf, 2, 3))) void json_add(struct json *j, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(j->text + j->sz, sizeof(j->text) - j->sz, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(j->text) - j->sz)
		j->sz += (size_t)n;
}

/* Bytes that are no UTF-8 are replaced in the whole column. */
static void json_text(struct json *j, const char *s, size_t sz)
{
	json_add(j, "\"");
	for (size_t i = 0; i < sz; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			json_add(j, "\\%c", c);
		else if (c < 0x20)
			json_add(j, "\\u%04x", c);
		else
			json_add(j, "%c", c);
	}
	json_add(j, "\"");
}

static void json_value(struct json *j, const struct any_place *p, const struct event_args *d,
		       size_t i)
{
	const struct any_arg *a = &p->site.args[i];
	const char *text = d->text[p->site.wide ? 0 : i];
	size_t max = p->site.wide ? sizeof(d->text) : sizeof(d->text[0]);

	if (a->text == ANY_NUMBER && a->value.is_signed)
		json_add(j, "%" PRId64, (int64_t)d->values[i]);
	else if (a->text == ANY_NUMBER)
		json_add(j, "%" PRIu64, (uint64_t)d->values[i]);
	else if (!d->values[i])
		json_add(j, "null");
	else
		json_text(j, text, strnlen(text, max));
}

/* A call that has not returned has no result. */
static void json_result(struct json *j, const struct any_place *p, const struct event *e)
{
	if (!p->site.result.sz || e->reason)
		return;
	json_add(j, "%s\"result\": ", j->sz ? ", " : "{");
	if (p->site.result.is_signed)
		json_add(j, "%" PRId64, (int64_t)e->amount);
	else
		json_add(j, "%" PRIu64, (uint64_t)e->amount);
}

bool probe_args__text(const struct resolved_event *sl, const struct any_probes *any,
		      char text[PROBE_ARGS_TEXT_SZ])
{
	struct event_args d;
	const struct any_place *p;
	uint32_t arg;

	if (sl->event.detail_sz != sizeof(d))
		return false;
	memcpy(&d, sl->detail, sizeof(d));
	p = any_probes__place(any, d.choice);
	arg = p ? p->site.label_arg : EVENT_ARG_CNT;
	if (arg >= EVENT_ARG_CNT || p->site.args[arg].text == ANY_NUMBER || !d.values[arg])
		return false;
	snprintf(text, sizeof(d.text), "%.*s",
		 (int)(p->site.wide ? sizeof(d.text) : sizeof(d.text[0])),
		 d.text[p->site.wide ? 0 : arg]);
	return true;
}

void probe_args__fill(struct row *row, const struct resolved_event *sl,
		      const struct any_probes *any, struct recording *r)
{
	struct event_args d;
	const struct any_place *p;
	struct json j = { .sz = 0 };

	if (sl->event.detail_sz != sizeof(d))
		return;
	memcpy(&d, sl->detail, sizeof(d));
	p = any_probes__place(any, d.choice);
	if (!p)
		return;
	row->probe = recording__string(r, p->name, strlen(p->name));
	for (size_t i = 0; i < EVENT_ARG_CNT; i++) {
		if (!p->site.args[i].value.sz)
			continue;
		json_add(&j, "%s\"%s\": ", j.sz ? ", " : "{", p->names[i]);
		json_value(&j, p, &d, i);
	}
	json_result(&j, p, &sl->event);
	row->amount = 0;
	if (!j.sz)
		return;
	json_add(&j, "}");
	row->args = recording__string(r, j.text, j.sz);
}
