/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A place that the user chose for a probe. */
#ifndef CAPTURE_ANYPLACE_H
#define CAPTURE_ANYPLACE_H

#include "bpf/anysite.h"

/* A chosen place, and the names that its rows have for it and for its arguments. */
struct any_place {
	const char *name; /* PATH:FUNCTION, GROUP:NAME, PATH:PROVIDER:NAME */
	char names[EVENT_ARG_CNT][32];
	struct any_site site; /* its first */
};

#endif
