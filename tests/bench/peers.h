/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other unwinders to compare with: libunwind, and framehop if there is a cargo. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind-x86_64.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/process.h"

/* ---- framehop: framehop/src/lib.rs ---- */

struct framehop_walk {
	uint64_t pc, sp, fp, addr, sz;
	const uint8_t *stack;
};

void *framehop_cache_new(void) __attribute__((weak));
void *framehop_process_new(void) __attribute__((weak));
void framehop_add(void *process, const char *path, uint64_t start, uint64_t end, uint64_t off)
	__attribute__((weak));
size_t framehop_walk(void *process, void *cache, const struct framehop_walk *, uint64_t *pcs,
		     size_t max) __attribute__((weak));

static inline void *framehop_process(const struct process *p)
{
	void *f = framehop_process_new();

	for (size_t i = 0; i < p->map_cnt; i++) {
		const struct mapping *m = &p->maps[i];

		if (m->file && m->file->fd >= 0)
			framehop_add(f, m->path, m->start, m->end, m->pgoff);
	}
	return f;
}

/* ---- libunwind's remote interface: one address space per process, all cached ---- */

extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t ip, unw_dyn_info_t *,
					      unw_proc_info_t *, int need_unwind_info, void *arg);

struct libunwind_module {
	uint64_t start, end, bias;
	const uint8_t *file; /* mapped */
	size_t sz;
	uint64_t hdr_vaddr; /* of .eh_frame_hdr; 0: none */
};

struct libunwind {
	unw_addr_space_t space;
	struct libunwind_module *modules;
	size_t cnt;
	/* of the current walk */
	const uint64_t *regs;
	const uint8_t *stack;
	uint64_t addr, sz;
};

static inline const Elf64_Phdr *libunwind__phdr(const struct libunwind_module *m, size_t i)
{
	const Elf64_Ehdr *e = (const void *)m->file;

	return i < e->e_phnum ? (const Elf64_Phdr *)(const void *)(m->file + e->e_phoff) + i : NULL;
}

/* Returns the file's bytes at an address of the process. */
static inline const uint8_t *libunwind__at(const struct libunwind_module *m, uint64_t addr,
					   size_t sz)
{
	const Elf64_Phdr *p;

	for (size_t i = 0; (p = libunwind__phdr(m, i)); i++) {
		uint64_t in = addr - m->bias - p->p_vaddr;

		if (p->p_type == PT_LOAD && in < p->p_filesz && p->p_filesz - in >= sz)
			return m->file + p->p_offset + in;
	}
	return NULL;
}

static inline void libunwind__add(struct libunwind *u, const struct mapping *map)
{
	struct libunwind_module *m = &u->modules[u->cnt];
	const Elf64_Phdr *p;
	struct stat st;

	if (!map->file || map->file->fd < 0 || fstat(map->file->fd, &st))
		return;
	*m = (struct libunwind_module){ .start = map->start, .end = map->end };
	m->sz = (size_t)st.st_size;
	m->file = mmap(NULL, m->sz, PROT_READ, MAP_PRIVATE, map->file->fd, 0);
	if (m->file == MAP_FAILED)
		return;
	for (size_t i = 0; (p = libunwind__phdr(m, i)); i++) {
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
		    p->p_offset + p->p_filesz > map->pgoff &&
		    p->p_offset < map->pgoff + (map->end - map->start))
			m->bias = map->start - map->pgoff + p->p_offset - p->p_vaddr;
		if (p->p_type == PT_GNU_EH_FRAME)
			m->hdr_vaddr = p->p_vaddr;
	}
	u->cnt++;
}

static inline const struct libunwind_module *libunwind__find(const struct libunwind *u, uint64_t ip)
{
	for (size_t i = 0; i < u->cnt; i++)
		if (ip >= u->modules[i].start && ip < u->modules[i].end)
			return &u->modules[i];
	return NULL;
}

static inline int libunwind__proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out,
				       int need, void *arg)
{
	const struct libunwind_module *m = libunwind__find(arg, ip);
	uint64_t hdr = m ? m->bias + m->hdr_vaddr : 0;
	const uint8_t *at = m && m->hdr_vaddr ? libunwind__at(m, hdr, 12) : NULL;
	unw_dyn_info_t info = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint32_t cnt;

	if (!at || at[2] != 0x03 || at[3] != 0x3b) /* udata4; datarel | sdata4 */
		return -UNW_ENOINFO;
	memcpy(&cnt, at + 8, sizeof(cnt));
	info.start_ip = m->start;
	info.end_ip = m->end;
	info.u.rti.segbase = hdr;
	info.u.rti.table_data = hdr + 12;
	info.u.rti.table_len = cnt * 8ul / sizeof(unw_word_t);
	return _Ux86_64_dwarf_search_unwind_table(space, ip, &info, out, need, arg);
}

static inline int libunwind__read(unw_addr_space_t space, unw_word_t addr, unw_word_t *to,
				  int write, void *arg)
{
	const struct libunwind *u = arg;
	const uint8_t *at = NULL;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (addr - u->addr < u->sz)
		at = u->sz - (addr - u->addr) >= sizeof(*to) ? u->stack + (addr - u->addr) : NULL;
	for (size_t i = 0; i < u->cnt && !at; i++)
		at = libunwind__at(&u->modules[i], addr, sizeof(*to));
	if (!at)
		return -UNW_EINVAL;
	memcpy(to, at, sizeof(*to));
	return 0;
}

static inline int libunwind__reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *to,
				 int write, void *arg)
{
	(void)space;
	if (write || reg < 0 || reg > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*to = ((const struct libunwind *)arg)->regs[reg]; /* DWARF numbers, like ours */
	return 0;
}

static inline void libunwind__put(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space, (void)info, (void)arg;
}

static inline int libunwind__no_list(unw_addr_space_t space, unw_word_t *addr, void *arg)
{
	(void)space, (void)addr, (void)arg;
	return -UNW_ENOINFO;
}

static inline int libunwind__no_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *to,
				      int write, void *arg)
{
	(void)space, (void)reg, (void)to, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static inline struct libunwind *libunwind__new(const struct process *p)
{
	static unw_accessors_t accessors = {
		.find_proc_info = libunwind__proc_info,
		.put_unwind_info = libunwind__put,
		.get_dyn_info_list_addr = libunwind__no_list,
		.access_mem = libunwind__read,
		.access_reg = libunwind__reg,
		.access_fpreg = libunwind__no_fpreg,
	};
	struct libunwind *u = calloc(1, sizeof(*u));

	if (!u)
		abort();
	u->modules = calloc(p->map_cnt + 1, sizeof(*u->modules));
	u->space = unw_create_addr_space(&accessors, 0);
	if (!u->modules || !u->space)
		abort();
	for (size_t i = 0; i < p->map_cnt; i++)
		libunwind__add(u, &p->maps[i]);
	unw_set_caching_policy(u->space, UNW_CACHE_GLOBAL);
	return u;
}

static inline size_t libunwind__walk(struct libunwind *u, uint64_t *pcs, size_t max)
{
	unw_cursor_t cursor;
	size_t cnt = 0;
	unw_word_t ip;

	if (unw_init_remote(&cursor, u->space, u))
		return 0;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip))
			break;
		pcs[cnt++] = ip;
	} while (cnt < max && unw_step(&cursor) > 0);
	return cnt;
}

#endif
