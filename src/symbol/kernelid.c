// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kernelid.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct build_id kernel__build_id(void)
{
	struct build_id id = { 0 };
	uint8_t notes[4096];
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	ssize_t sz = fd < 0 ? 0 : read(fd, notes, sizeof(notes));

	for (size_t at = 0; sz > 0 && at + sizeof(Elf64_Nhdr) <= (size_t)sz;) {
		Elf64_Nhdr h;
		size_t name, desc;

		memcpy(&h, notes + at, sizeof(h));
		name = at + sizeof(h);
		desc = name + (((size_t)h.n_namesz + 3) & ~(size_t)3);
		at = desc + (((size_t)h.n_descsz + 3) & ~(size_t)3);
		if (at > (size_t)sz)
			break;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
		    memcmp(notes + name, "GNU", 4) == 0 && h.n_descsz <= BUILD_ID_MAX) {
			id.sz = (uint8_t)h.n_descsz;
			memcpy(id.bytes, notes + desc, id.sz);
		}
	}
	if (fd >= 0)
		close(fd);
	return id;
}
