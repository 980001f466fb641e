/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sysprof captures: a header of 256 bytes and then frames, in the byte order of the writing
 * machine. Definitions that reader and writer share. Private to src/formats. */
#ifndef FORMATS_SYSPROF_H
#define FORMATS_SYSPROF_H

#include "formats/stream.h"

#define SYSPROF_MAGIC	   "\x5e\x97\xca\xfd" /* independent of the byte order */
#define SYSPROF_HEADER_SZ  256
#define SYSPROF_FRAME_SZ   24 /* the header of a frame */
#define SYSPROF_SAMPLE_SZ  32 /* a sample without its addresses */
#define SYSPROF_FRAME_MAX  65528
#define SYSPROF_INDEX_MARK 0x53504958 /* in padding2 of a TIMESTAMP: an index of the file */
#define SYSPROF_LITTLE	   1	      /* in flags */

enum {
	SYSPROF_TIMESTAMP = 1,
	SYSPROF_SAMPLE = 2,
	SYSPROF_MAP = 3,
	SYSPROF_PROCESS = 4,
	SYSPROF_FORK = 5,
	SYSPROF_EXIT = 6,
	SYSPROF_OVERLAY = 15,
	SYSPROF_STACK_USER = 18, /* registers and stack, from recorders that do not unwind */
};

/* Offsets in the header of a capture. */
enum { SYSPROF_AT_FLAGS = 5, SYSPROF_AT_DATE = 8, SYSPROF_AT_TIME = 72, SYSPROF_AT_INDEX = 88 };

/* Offsets in the header of a frame. */
enum {
	SYSPROF_AT_LEN = 0,
	SYSPROF_AT_CPU = 2,
	SYSPROF_AT_PID = 4,
	SYSPROF_AT_FRAME_TIME = 8,
	SYSPROF_AT_TYPE = 16,
	SYSPROF_AT_PADDING2 = 20
};

/* Offsets in frames, by their type. */
enum {
	SYSPROF_SAMPLE_CNT = 24, /* of addresses, which begin at SYSPROF_SAMPLE_SZ */
	SYSPROF_SAMPLE_TID = 28,
	SYSPROF_MAP_START = 24,
	SYSPROF_MAP_END = 32,
	SYSPROF_MAP_PGOFF = 40,
	SYSPROF_MAP_INODE = 48,
	SYSPROF_MAP_PATH = 56, /* then, perhaps, @BUILDID */
	SYSPROF_FORK_TID = 24,
	SYSPROF_OVERLAY_LAYER = 24,
	SYSPROF_OVERLAY_SRC = 32, /* then the destination */
	SYSPROF_STACK_SZ = 24,
	SYSPROF_STACK_TID = 32,
	SYSPROF_STACK_BYTES = 40, /* then the number of registers, the ABI, and the registers */
};

struct sysprof_reader {
	struct stream_reader base;
	bool swap; /* the capture has the other byte order */
	uint8_t header[SYSPROF_HEADER_SZ];
	size_t step; /* bytes of the frame returned last */
};

struct stream_reader *sysprof_reader__new(struct input *);
struct stream_writer *sysprof_writer__new(const struct stream_writer_options *);

#endif
