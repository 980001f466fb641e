/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for every function and every run that is read of an interpreter, whatever it has in
 * its memory. */
#ifndef FUZZ_FUZZSCRIPT_H
#define FUZZ_FUZZSCRIPT_H

#include "fuzz.h"

#include <unistd.h>

#include "runtime/runtime.h"

/* Frees the function. */
static inline void script__check(struct script_function *f)
{
	uint32_t line;

	FUZZ_CHECK(f->cnt <= SCRIPT_PLACES_MAX);
	for (size_t i = 1; i < f->cnt; i++)
		FUZZ_CHECK(f->places[i - 1].off < f->places[i].off);
	for (size_t i = 1; i < f->copy_cnt; i++)
		FUZZ_CHECK(f->copies[i - 1] <= f->copies[i]);
	if (script_function__line(f, f->start, &line))
		FUZZ_CHECK(f->sz > 0);
	FUZZ_CHECK(!f->script.name == !f->script.module);
	script_function__free(f);
}

static inline void runs__check(const struct runtime_calls *c, const struct runtime_run *runs,
			       size_t cnt)
{
	size_t sum = 0;

	FUZZ_CHECK(cnt <= c->cnt + 1);
	for (size_t i = 0; i < cnt; i++) {
		FUZZ_CHECK(runs[i].first + runs[i].cnt <= c->cnt);
		sum += runs[i].cnt;
	}
	FUZZ_CHECK(sum <= c->cnt);
}

/* What the input may be. `fd` is the file with the runtime's memory. */
typedef void (*script_input)(int fd, const uint8_t *data, size_t sz);

/* The first byte says which of them the rest is. */
static inline int script__run(const script_input *inputs, size_t cnt, int fd, const uint8_t *data,
			      size_t sz)
{
	FUZZ_CHECK(fd >= 0);
	if (sz)
		inputs[data[0] % cnt](fd, data + 1, sz - 1);
	close(fd);
	return 0;
}

#define SCRIPT_INPUTS(...)                                                                      \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)                              \
	{                                                                                       \
		static const script_input inputs[] = { __VA_ARGS__ };                           \
                                                                                                \
		return script__run(inputs, sizeof(inputs) / sizeof(*inputs), fake__new(), data, \
				   sz);                                                         \
	}

#endif
