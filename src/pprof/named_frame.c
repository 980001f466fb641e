// SPDX-License-Identifier: GPL-2.0-or-later
#include "pprof/named_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void named_frame__append(struct buf *out, const struct named_frame *f)
{
	const char *slash = f->module.sz ? memrchr(f->module.s, '/', f->module.sz) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - f->module.s) : 0;
	char place[32];

	if (f->name.sz) {
		buf__append(out, f->name.s, f->name.sz);
		return;
	}
	if (f->module.sz > skip)
		buf__append(out, f->module.s + skip, f->module.sz - skip);
	else
		buf__append(out, "[unknown]", strlen("[unknown]"));
	snprintf(place, sizeof(place), "+0x%" PRIx64, f->address + (f->has_start ? 0 : f->offset));
	buf__append(out, place, strlen(place));
}
