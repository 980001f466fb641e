/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Byte strings → dense ids, 0 for the empty one. Strings keep their addresses until reset. */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct strtab;

struct strtab *strtab__new(void); /* NULL + errno */
void strtab__free(struct strtab *);
void strtab__reset(struct strtab *);
uint32_t strtab__id(struct strtab *, const void *s, size_t sz); /* interned; 0 when out of memory */
const char *strtab__str(const struct strtab *, uint32_t id,
			size_t *sz);	   /* NUL-terminated; sz may be NULL */
size_t strtab__cnt(const struct strtab *); /* ids are 0 … cnt - 1 */
size_t strtab__sz(const struct strtab *);  /* bytes of all strings */

#endif
