// SPDX-License-Identifier: GPL-2.0-or-later
/* An untrusted ELF file, opened from a descriptor and from memory. */
#include "elf/section.h"
#include "fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elffile.h"

static void use(struct elf_file *f)
{
	uint64_t vaddr;
	GElf_Shdr sh;

	if (!f)
		return;
	FUZZ_CHECK(f->build_id.sz <= BUILD_ID_MAX);
	for (size_t i = 0; i < f->segment_cnt; i++)
		FUZZ_CHECK(f->segments[i].sz == 0 ||
			   elf_file__vaddr(f, f->segments[i].off, &vaddr));
	section__named(f, ".symtab", &sh);
	elf_file__put(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sz)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	void *image = malloc(sz ? sz : 1);

	FUZZ_CHECK(fd >= 0 && image && write(fd, data, sz) == (ssize_t)sz);
	/* A file of root would be trusted, and not hashed. */
	FUZZ_CHECK(geteuid() != 0 || fchown(fd, 65534, 65534) == 0);
	use(elf_file__new(fd, "fuzz"));
	memcpy(image, data, sz);
	use(elf_file__from_memory(image, sz, "fuzz"));
	return 0;
}
