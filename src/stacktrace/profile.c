// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/builder.h"
#include "process/process.h"
#include "jit/jit.h"
#include "symbol/remotesymbol.h"

struct profile {
	struct builder *builder;
	struct binaries *binaries;
	struct kallsyms *kernel; /* NULL if unreadable, or not of the recorded kernel */
	struct jit *jit;
	struct workers *workers;
	struct jit_symbol jit_symbol; /* of the current frame */
	uint64_t first_ns, last_ns;
};

static const char *const special_modules[] = {
	[MAPPING_ANON] = "[anon]",
	[MAPPING_VDSO] = "[vdso]",
	[MAPPING_VSYSCALL] = "[vsyscall]",
	[MAPPING_UPROBES] = "[uprobes]",
};

struct profile *profile__new(const struct profile_options *o)
{
	struct profile *p = calloc(1, sizeof(*p));
	struct builder_options builder = { .value_names = { "samples",
							    o->clock ? "cpu_time" : "events" } };

	if (!p)
		return NULL;
	p->binaries = builder.binaries = binaries__new(NULL);
	if (p->binaries)
		p->builder = builder__new(&builder);
	p->kernel = o->live ? kallsyms__new("/proc/kallsyms") : NULL;
	p->jit = o->jit;
	p->workers = o->workers;
	if (p->builder)
		return p;
	profile__free(p);
	return errno = ENOMEM, NULL;
}

void profile__free(struct profile *p)
{
	if (!p)
		return;
	builder__free(p->builder);
	binaries__free(p->binaries);
	kallsyms__free(p->kernel);
	free(p);
}

void profile__kernel_text(struct profile *p, uint64_t addr)
{
	struct symbol s;

	if (!p->kernel)
		p->kernel = kallsyms__new("/proc/kallsyms");
	if (!p->kernel || (kallsyms__symbol(p->kernel, addr, &s) && s.base == addr))
		return;
	kallsyms__free(p->kernel);
	p->kernel = NULL;
}

static struct frame_text profile_text(const char *s)
{
	return (struct frame_text){ s, strlen(s) };
}

/* ---- frames ---- */

static void profile_add_kernel_frame(struct profile *p, uint64_t place)
{
	struct named_frame f = { .module = profile_text("[kernel]"), .offset = place };
	struct symbol s;

	if (p->kernel && kallsyms__symbol(p->kernel, place, &s)) {
		f.module = profile_text(s.module);
		f.name = profile_text(s.name);
		f.address = s.address;
		f.offset = place - s.address;
	}
	builder__frame(p->builder, &f);
}

/* Adds the kernel frames. The first is the sampled address. The others are return addresses, so 1
 * is subtracted. */
static void profile_add_kernel_frames(struct profile *p, const struct item_sample *s, size_t cnt)
{
	size_t found = 0;

	for (size_t i = 0; i < cnt; i++)
		if (s->chain[i] < CONTEXT_MAX)
			profile_add_kernel_frame(p, s->chain[i] - (found++ > 0));
	if (!found && s->kernel && s->ip)
		profile_add_kernel_frame(p, s->ip);
}

/* Names a frame by the symbols of its file. Returns false if the file could not be opened. */
static bool profile_name_by_file(const struct profile *p, const struct frame *f,
				 struct named_frame *out)
{
	const struct mapping *m = f->map;
	struct symbol s;
	uint64_t vaddr;

	if (!m->file || !elf_file__vaddr(m->file, out->file_offset, &vaddr))
		return false;
	out->offset = vaddr;
	if (!workers__symbol(p->workers, m->file, vaddr, &s))
		return true;
	out->name = profile_text(s.name);
	out->address = s.address;
	out->offset = vaddr - s.address;
	return true;
}

static void profile_name_by_process(struct profile *p, const struct frame *f, const struct item *i,
				    struct named_frame *out)
{
	struct jit_place place = { i->record.tgid, frame__place(f), item__monotonic_ns(i) };
	struct jit_symbol *s = &p->jit_symbol;

	if (jit__name(p->jit, &place, NULL, s) != JIT_NAMED)
		return;
	out->module = profile_text("[jit]");
	out->name = profile_text(s->name);
	out->address = s->start;
	out->offset = place.addr - s->start;
	out->has_file_offset = false;
}

static void profile_hex(const struct build_id *id, char out[BUILD_ID_HEX_SZ])
{
	out[0] = '\0';
	for (size_t i = 0; i < id->sz; i++)
		snprintf(out + 2 * i, 3, "%02x", id->bytes[i]);
}

static void profile_add_user_frame(struct profile *p, const struct frame *f, const struct item *i)
{
	struct named_frame out = { .module = profile_text("[unknown]"), .offset = frame__place(f) };
	const struct mapping *m = f->map;
	char id[BUILD_ID_HEX_SZ];

	if (m) {
		out.file_offset = frame__place(f) - m->start + m->pgoff;
		out.has_file_offset = m->kind == MAPPING_FILE || m->kind == MAPPING_VDSO;
		out.module =
			profile_text(m->kind == MAPPING_FILE ? m->path : special_modules[m->kind]);
		profile_hex(&m->build_id, id);
		out.build_id = profile_text(id);
		if (out.has_file_offset)
			out.offset = out.file_offset;
	}
	if (m && !profile_name_by_file(p, f, &out))
		profile_name_by_process(p, f, i, &out);
	builder__frame(p->builder, &out);
}

/* ---- samples ---- */

void profile__add(struct profile *p, const struct profile_sample *s)
{
	const struct record *r = &s->item->record;
	int64_t values[BUILDER_VALUE_CNT] = { 1, (int64_t)s->item->sample.period };

	if (r->time_ns && (!p->first_ns || r->time_ns < p->first_ns))
		p->first_ns = r->time_ns;
	if (r->time_ns > p->last_ns)
		p->last_ns = r->time_ns;
	profile_add_kernel_frames(p, &s->item->sample, s->kernel_cnt);
	for (size_t i = 0; s->user && i < s->user->cnt; i++)
		profile_add_user_frame(p, &s->user->frames[i], s->item);
	builder__sample(p->builder, values);
}

int profile__write(struct profile *p, int fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	builder__set_time(p->builder, 0, (int64_t)(p->last_ns - p->first_ns), 0);
	builder__comment(p->builder, "stacktrace " STACKS_VERSION);
	return builder__write(p->builder, path);
}
