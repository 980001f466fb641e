// SPDX-License-Identifier: GPL-2.0-or-later
#include "formats/formats.h"

#include <string.h>

#include "formats/perfdata.h"
#include "formats/sysprof.h"

static const struct {
	const char *name;
	struct stream_reader *(*reader)(struct input *);
	struct stream_writer *(*writer)(const struct stream_writer_options *);
} formats[FORMAT_CNT] = {
	[FORMAT_UNKNOWN] = { "unknown", NULL, NULL },
	[FORMAT_PERF] = { "perf", perf_reader__new, perf_writer__new },
	[FORMAT_SYSPROF] = { "sysprof", sysprof_reader__new, sysprof_writer__new },
};

const char *format__name(enum format f)
{
	return formats[f].name;
}

enum format format__by_name(const char *name)
{
	for (enum format f = FORMAT_UNKNOWN + 1; f < FORMAT_CNT; f++)
		if (strcmp(formats[f].name, name) == 0)
			return f;
	return FORMAT_UNKNOWN;
}

enum format format__detect(struct input *in)
{
	const uint8_t *p = input__peek(in, 8);
	uint64_t magic;

	if (!p)
		return FORMAT_UNKNOWN;
	memcpy(&magic, p, sizeof(magic));
	if (magic == PERF_MAGIC || magic == PERF_MAGIC_FOREIGN)
		return FORMAT_PERF;
	return memcmp(p, SYSPROF_MAGIC, 4) == 0 ? FORMAT_SYSPROF : FORMAT_UNKNOWN;
}

struct stream_reader *stream_reader__new(enum format f, struct input *in)
{
	return formats[f].reader(in);
}

struct stream_writer *stream_writer__new(const struct stream_writer_options *o)
{
	return formats[o->format].writer(o);
}
