// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sysprof_frames CAPTURE: prints what sysprof's own library reads: for each sample a line
 * "sample PID TID TIME ADDRESS…", for each other frame "frame TYPE". Exits with 1 if the library
 * does not read the file.
 *
 * No release of Debian has the library with its header and without a graphical toolkit: 12 has it
 * in libsysprof-4.so, without a header, 13 in libsysprof-capture-4.a. So its ABI is declared here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TYPE_SAMPLE 2

struct sample {
	uint16_t sz;
	int16_t cpu;
	int32_t pid;
	int64_t time_ns;
	uint8_t type, padding[7];
	uint16_t address_cnt, padding1;
	int32_t tid;
	uint64_t addresses[];
} __attribute__((packed));

struct reader;
extern struct reader *sysprof_capture_reader_new(const char *path);
extern bool sysprof_capture_reader_peek_type(struct reader *, int *type);
extern bool sysprof_capture_reader_skip(struct reader *);
extern const struct sample *sysprof_capture_reader_read_sample(struct reader *);
extern void sysprof_capture_reader_unref(struct reader *);

static bool print_sample(const struct sample *s)
{
	if (!s)
		return false;
	printf("sample %d %d %" PRId64, s->pid, s->tid, s->time_ns);
	for (int i = 0; i < s->address_cnt; i++)
		printf(" %" PRIu64, s->addresses[i]);
	putchar('\n');
	return true;
}

static bool print_frame(struct reader *r, int type)
{
	if (type == TYPE_SAMPLE)
		return print_sample(sysprof_capture_reader_read_sample(r));
	printf("frame %d\n", type);
	return sysprof_capture_reader_skip(r);
}

int main(int argc, char **argv)
{
	struct reader *r = argc == 2 ? sysprof_capture_reader_new(argv[1]) : NULL;
	bool ok = r;
	int type;

	while (ok && sysprof_capture_reader_peek_type(r, &type))
		ok = print_frame(r, type);
	if (r)
		sysprof_capture_reader_unref(r);
	return ok ? 0 : 1;
}
