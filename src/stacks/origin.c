// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/origin.h"

#include <errno.h>
#include <unistd.h>

#include "base/digest.h"
#include "elf/gopclntab.h"
#include "elf/section.h"

#define DIGEST_MAX (64u << 20) /* bytes of symbols and strings that are hashed */

/* Hashes a section piece by piece, so that nothing of it stays in memory. */
static int origin_hash_section(const struct elf_file *f, const GElf_Shdr *sh,
			       struct sha256_ctx *hash, size_t *left)
{
	uint64_t head[2], off;
	uint8_t piece[16384];

	if (sh->sh_type == SHT_NOBITS)
		return 0;
	if (sh->sh_size > *left)
		return -EFBIG;
	*left -= sh->sh_size;
	head[0] = sh->sh_type;
	head[1] = sh->sh_size;
	sha256_update(hash, sizeof(head), (const uint8_t *)head);
	for (off = 0; off < sh->sh_size;) {
		size_t want = sh->sh_size - off < sizeof(piece) ? sh->sh_size - off : sizeof(piece);
		ssize_t got = pread(f->fd, piece, want, (off_t)(sh->sh_offset + off));

		if (got <= 0)
			return got < 0 ? -errno : -ENOEXEC;
		sha256_update(hash, (size_t)got, piece);
		off += (uint64_t)got;
	}
	return 0;
}

/* Hashes a symbol table and its names. */
static int origin_hash_table(const struct elf_file *f, const GElf_Shdr *sh, struct sha256_ctx *hash,
			     size_t *left)
{
	int err = origin_hash_section(f, sh, hash, left);
	GElf_Shdr names;

	return err || !section__at(f, sh->sh_link, &names)
		       ? err
		       : origin_hash_section(f, &names, hash, left);
}

/* Hashes the function names of a Go program without a symbol table. */
static int origin_hash_go(const struct elf_file *f, struct sha256_ctx *hash, size_t *left)
{
	GElf_Shdr table, module;
	bool found = gopclntab__section(f, &table);
	int err = found ? origin_hash_section(f, &table, hash, left) : 0;

	return err || !found || !section__named(f, ".go.module", &module)
		       ? err
		       : origin_hash_section(f, &module, hash, left);
}

/*
 * Hashes the symbols of a file that is not trusted: they stand for it in stack IDs. They are the
 * same on every host. A file with no tables, or with too large ones, gets a number that no other
 * file has.
 */
static void origin_hash_symbols(const struct elf_file *f, struct sha256_ctx *hash)
{
	size_t left = DIGEST_MAX;
	bool has_symtab = false;
	GElf_Shdr sh;
	int err = 0;

	for (size_t i = 1; err == 0 && section__at(f, i, &sh); i++) {
		if (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM)
			continue;
		has_symtab |= sh.sh_type == SHT_SYMTAB;
		err = origin_hash_table(f, &sh, hash, &left);
	}
	if (err == 0 && !has_symtab)
		err = origin_hash_go(f, hash, &left);
	if (err) {
		const uint64_t own[] = { f->dev, f->ino, (uint64_t)f->ctime.tv_sec,
					 (uint64_t)f->ctime.tv_nsec };

		sha256_update(hash, sizeof(own), (const uint8_t *)own);
	}
}

uint64_t origin__of(const struct elf_file *f)
{
	const uint8_t head[] = { f->trusted, f->build_id.sz };
	struct sha256_ctx hash;

	if (!f->build_id.sz)
		return 0;
	sha256_init(&hash);
	sha256_update(&hash, sizeof(head), head);
	sha256_update(&hash, f->build_id.sz, f->build_id.bytes);
	if (!f->trusted)
		origin_hash_symbols(f, &hash);
	return digest__end(&hash) | ORIGIN_FILE;
}
