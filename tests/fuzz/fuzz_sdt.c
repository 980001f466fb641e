// SPDX-License-Identifier: GPL-2.0-or-later
/* The probes of an untrusted ELF file: notes, places, arguments. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/usdt_args.h"
#include "elf/sdt.h"

static int use(const struct sdt_note *n, void *f)
{
	struct usdt_arg args[USDT_ARG_CNT];
	const char *bad = NULL, *why = NULL;
	struct sdt_place place;
	int cnt = usdt_args__parse(n->args, args, USDT_ARG_CNT, &bad);

	FUZZ_CHECK(strlen(n->provider) + strlen(n->name) + strlen(n->args) < 1u << 24);
	FUZZ_CHECK((cnt < 0) == (bad != NULL));
	for (int i = 0; i < cnt && i < USDT_ARG_CNT; i++)
		FUZZ_CHECK(args[i].sz >= 1 && args[i].sz <= 8 && args[i].shift <= 3);
	FUZZ_CHECK((sdt__place(f, n, &place, &why) != 0) == (why != NULL));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_file *f;

	FUZZ_CHECK(fd >= 0 && write(fd, data, sz) == (ssize_t)sz);
	f = elf_file__new(fd, "fuzz");
	if (f)
		sdt__each(f, use, f);
	elf_file__put(f);
	return 0;
}
