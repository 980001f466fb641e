// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tables DETAILED FILE…: builds the tables of ELF files. Prints for each of the first DETAILED
 * ones, and for all together, tab-separated: name, files, rows, bytes of the tables, bytes of code,
 * ms of CPU, and ms that libdw takes for the same rows (0: not measured). For a detailed file both
 * are the median of ROUNDS, in turns, each in new memory like the first table of a process; all
 * together are built once. All files are read before.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "warmpages.h"
#include "cfi/libdwimage.h"
#include "cfi/tablebuild.h"

#define ROUNDS 15
/* of memory that the kernel allocates, and reclaims when it is freed */
#define LARGE_SZ (128 << 10)

struct totals {
	size_t files, rows, bytes, code;
	double ms, libdw_ms;
};

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static size_t code_sz(const struct elf_file *f)
{
	size_t sz = 0;

	for (size_t i = 0; i < f->segment_cnt; i++)
		sz += f->segments[i].flags & PF_X ? f->segments[i].sz : 0;
	return sz;
}

static double make(struct elf_file *f, struct cfi_table **t)
{
	double from_ms = cpu_ms();

	*t = cfi_table__of_file(f);
	return cpu_ms() - from_ms;
}

/* Row by row, from the end of one to the next. */
static double ask_libdw(struct elf_file *f, const struct cfi_table *t)
{
	double from_ms = cpu_ms();
	struct libdw_image d;

	if (libdw_image__make(&d, f, f))
		return 0;
	for (uint32_t page = 0; page < t->page_cnt; page++) {
		for (uint32_t i = cfi_table__pages(t)[page]; i < cfi_table__pages(t)[page + 1];
		     i++) {
			uint64_t off = ((t->first_page + page) << TABLE_PAGE_BITS) +
				       cfi_table__rows(t)[i].start,
				 vaddr;

			if (elf_file__vaddr(f, off, &vaddr))
				free(libdw_image__frame(&d, vaddr));
		}
	}
	libdw_image__free(&d);
	return cpu_ms() - from_ms;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *ms)
{
	qsort(ms, ROUNDS, sizeof(*ms), by_size);
	return ms[ROUNDS / 2];
}

static void make_detailed(struct elf_file *f, struct totals *one)
{
	double ms[ROUNDS], libdw_ms[ROUNDS];
	struct cfi_table *t;

	for (size_t i = 0; i < ROUNDS; i++) {
		ms[i] = make(f, &t);
		libdw_ms[i] = t ? ask_libdw(f, t) : 0;
		free(t);
	}
	one->ms = median(ms);
	one->libdw_ms = median(libdw_ms);
}

static void print(const char *name, const struct totals *t)
{
	printf("%s\t%zu\t%zu\t%zu\t%zu\t%.3f\t%.1f\n", name, t->files, t->rows, t->bytes, t->code,
	       t->ms, t->libdw_ms);
}

static void add(const char *path, bool detailed, struct totals *all)
{
	struct elf_file *f = elf_file__open(path);
	struct cfi_table *t = NULL;
	struct totals one = { .ms = f ? make(f, &t) : 0 };

	all->ms += one.ms;
	if (t) {
		one.files = 1;
		one.rows = t->row_cnt;
		one.bytes = t->sz;
		one.code = code_sz(f);
	}
	all->files += one.files;
	all->rows += one.rows;
	all->bytes += one.bytes;
	all->code += one.code;
	free(t);
	if (detailed && one.files)
		make_detailed(f, &one);
	if (detailed)
		print(path, &one);
	elf_file__put(f);
}

int main(int argc, char **argv)
{
	struct totals all = { 0 };

	mallopt(M_MMAP_THRESHOLD, LARGE_SZ);
	for (int i = 2; i < argc; i++)
		pagecache__bring(argv[i]);
	for (int i = 2; i < argc; i++)
		add(argv[i], i - 2 < atoi(argv[1]), &all);
	print("all", &all);
	return all.files == 0;
}
