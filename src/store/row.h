/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One row of `events`, as the collector adds it to a batch. Columns: src/store/columns.c. */
#ifndef STORE_ROW_H
#define STORE_ROW_H

#include <stdint.h>

/*
 * Strings are ids of the batch's dictionary (recording__string()); 0 is null, or "" in a required
 * column. Nullable numbers are null unless their bit is set in `present`.
 */
enum row_present {
	ROW_USTACK_ID = 1 << 0,
	ROW_KSTACK_ID = 1 << 1,
	ROW_RUNNABLE = 1 << 2,
	ROW_GAPS = 1 << 3,
	ROW_TARGET = 1 << 4,
	ROW_ADDRESS = 1 << 5,
};

struct row {
	int64_t timestamp, duration; /* unix ns, ns */
	uint64_t span_id, parent_id, id;
	int64_t amount;
	uint64_t ustack_id, kstack_id;
	int64_t runnable, gaps; /* ns */
	uint64_t address;
	int32_t cpu, tgid, pid, target, weight;
	uint32_t present; /* enum row_present */
	uint32_t kind, command, trace_name, buildid, thread;
	uint32_t unwind, state, device, file, fs, local, peer, cgroup, host, lost_kind, reason,
		path, probe, args;
};

/* A process that has events in the batch, or what it became by exec. Strings are ids of the batch's
 * dictionary; 0: unknown. Nullable numbers are null unless their bit is set. */
enum process_row_present { PROCESS_ROW_START = 1 << 0, PROCESS_ROW_FACTS = 1 << 1 };

struct process_row {
	int64_t timestamp; /* of the event for which the row was made, unix ns */
	int64_t start;	   /* unix ns */
	int32_t tgid, parent, uid;
	uint32_t present; /* enum process_row_present */
	uint32_t command_line, executable, cgroup, user, host, container_name;
};

/* One frame of a stack, leaf first in arrays. Strings are ids of the batch's dictionary. */
struct row_frame {
	uint32_t name; /* 0: unknown */
	uint32_t module;
	uint32_t build_id; /* lower-case hex; 0: none */
	uint32_t mark;	   /* how the frame was found; 0: by call-frame information */
	uint32_t has_file_offset;
	int32_t line;  /* in the source; 0: unknown */
	uint32_t file; /* of the line; 0: `module` is it, or unknown */
	uint64_t address, offset, file_offset;
};

#endif
