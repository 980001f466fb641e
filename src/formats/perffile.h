/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants of perf.data that the perf tool defines, not linux/perf_event.h
 * (tools/perf/Documentation/perf.data-file-format.txt). */
#ifndef FORMATS_PERFFILE_H
#define FORMATS_PERFFILE_H

#include <linux/perf_event.h>
#include <stdint.h>

#define PERF_MAGIC	   0x32454c4946524550ull /* "PERFILE2" */
#define PERF_MAGIC_FOREIGN 0x50455246494c4532ull /* in the other byte order */

struct perf_file_section {
	uint64_t off, sz;
};

#define PERF_FEATURES 256

struct perf_file_header {
	uint64_t magic, sz; /* sz 16: a stream, which has only these two fields */
	uint64_t attr_sz;   /* size of a table entry: the attr and its section of ids */
	struct perf_file_section attrs, data, types;
	uint64_t features[PERF_FEATURES / 64];
};

#define PERF_PIPE_HEADER_SZ 16

enum {
	PERF_CALLCHAIN_DEFERRED = 22, /* a kernel record, since Linux 6.19 */
	PERF_USER_TYPES = 64,	      /* from here: records of the tool, without a sample id */
	PERF_HEADER_ATTR = 64,
	PERF_TRACING_DATA = 66,
	PERF_HEADER_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_AUXTRACE_INFO = 70,
	PERF_AUXTRACE = 71,
	PERF_AUXTRACE_ERROR = 72,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

enum {
	PERF_FEAT_TRACING_DATA = 1,
	PERF_FEAT_BUILD_ID = 2,
	PERF_FEAT_HOSTNAME = 3,
	PERF_FEAT_OSRELEASE = 4,
	PERF_FEAT_ARCH = 6,
	PERF_FEAT_EVENT_DESC = 12,
	PERF_FEAT_AUXTRACE = 18,
	PERF_FEAT_DIR_FORMAT = 24,
	PERF_FEAT_COMPRESSED = 27,
};

#define PERF_ATTR_MIN	64 /* PERF_ATTR_SIZE_VER0 */
#define PERF_ATTR_MAX	4096
#define PERF_RECORD_MAX 65528 /* the largest multiple of 8 that fits in 16 bits */

#endif
