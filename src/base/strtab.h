/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps byte strings to dense ids; 0 is the empty string. Strings keep their addresses until reset.
 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct strtab;

struct strtab *strtab__new(void); /* returns NULL and sets errno on failure */
void strtab__free(struct strtab *);
void strtab__reset(struct strtab *);
/* Interns the string. Returns 0 without memory. */
uint32_t strtab__id(struct strtab *, const void *s, size_t sz);
/* Returns the string with a NUL; sz may be NULL. */
const char *strtab__str(const struct strtab *, uint32_t id, size_t *sz);
size_t strtab__cnt(const struct strtab *); /* ids are 0 … cnt - 1 */
size_t strtab__sz(const struct strtab *);  /* bytes of all strings */

#endif
