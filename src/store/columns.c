// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/columns.h"

#include "store/row.h"

#define REQUIRED(field, t)                                                             \
	{                                                                              \
		.name = #field, .type = COLUMN_##t, .off = offsetof(struct row, field) \
	}
#define NULLABLE(field, t, bit)                                                         \
	{                                                                               \
		.name = #field, .type = COLUMN_##t, .off = offsetof(struct row, field), \
		.nullable = true, .present = bit                                        \
	}
#define ZERO_IS_NULL 0

/* Readers rely on order, names and types: append only. */
static const struct column event_columns[] = {
	REQUIRED(timestamp, INT64),
	REQUIRED(duration, INT64),
	REQUIRED(kind, STRING),
	REQUIRED(cpu, INT32),
	REQUIRED(tgid, INT32),
	REQUIRED(pid, INT32),
	REQUIRED(span_id, UINT64),
	REQUIRED(parent_id, UINT64),
	REQUIRED(id, UINT64),
	REQUIRED(amount, INT64),
	REQUIRED(command, STRING),
	REQUIRED(trace_name, STRING),
	REQUIRED(buildid, BINARY),
	NULLABLE(thread, STRING, ZERO_IS_NULL),
	NULLABLE(ustack_id, UINT64, ROW_USTACK_ID),
	NULLABLE(kstack_id, UINT64, ROW_KSTACK_ID),
	NULLABLE(unwind, STRING, ZERO_IS_NULL),
	NULLABLE(state, STRING, ZERO_IS_NULL),
	NULLABLE(runnable, INT64, ROW_RUNNABLE),
	NULLABLE(gaps, INT64, ROW_GAPS),
	NULLABLE(target, INT32, ROW_TARGET),
	NULLABLE(device, STRING, ZERO_IS_NULL),
	NULLABLE(file, STRING, ZERO_IS_NULL),
	NULLABLE(fs, STRING, ZERO_IS_NULL),
	NULLABLE(local, STRING, ZERO_IS_NULL),
	NULLABLE(peer, STRING, ZERO_IS_NULL),
	NULLABLE(address, UINT64, ROW_ADDRESS),
	NULLABLE(cgroup, STRING, ZERO_IS_NULL),
	NULLABLE(host, STRING, ZERO_IS_NULL),
	NULLABLE(weight, INT32, ZERO_IS_NULL),
	NULLABLE(lost_kind, STRING, ZERO_IS_NULL),
	NULLABLE(reason, STRING, ZERO_IS_NULL),
	NULLABLE(path, STRING, ZERO_IS_NULL),
	NULLABLE(probe, STRING, ZERO_IS_NULL),
	NULLABLE(args, STRING, ZERO_IS_NULL),
};

#define FRAME(field, t, ...)                                                                  \
	{                                                                                     \
		.name = #field, .type = COLUMN_##t, .off = offsetof(struct row_frame, field), \
		__VA_ARGS__                                                                   \
	}

static const struct column frame_columns[] = {
	FRAME(name, STRING, .nullable = true),
	FRAME(address, UINT64, ),
	FRAME(offset, UINT64, ),
	FRAME(module, STRING, ),
	FRAME(build_id, STRING, .nullable = true),
	FRAME(file_offset, UINT64, .nullable = true, .present = UINT32_MAX),
	FRAME(mark, STRING, .nullable = true),
	FRAME(line, INT32, .nullable = true),
	FRAME(file, STRING, .nullable = true),
};

static const struct column stack_columns[] = {
	{ .name = "stack_id", .type = COLUMN_UINT64, .off = offsetof(struct stack_row, stack_id) },
	{ .name = "repeated", .type = COLUMN_INT32, .off = offsetof(struct stack_row, repeated) },
};

#define PROCESS(field, t, ...)                                                                  \
	{                                                                                       \
		.name = #field, .type = COLUMN_##t, .off = offsetof(struct process_row, field), \
		__VA_ARGS__                                                                     \
	}

/* Append only. */
static const struct column process_columns[] = {
	PROCESS(timestamp, INT64, ),
	PROCESS(tgid, INT32, ),
	PROCESS(start, INT64, .nullable = true, .present = PROCESS_ROW_START),
	PROCESS(parent, INT32, .nullable = true, .present = PROCESS_ROW_FACTS),
	PROCESS(command_line, STRING, .nullable = true),
	PROCESS(executable, STRING, .nullable = true),
	PROCESS(cgroup, STRING, .nullable = true),
	PROCESS(uid, INT32, .nullable = true, .present = PROCESS_ROW_FACTS),
	PROCESS(user, STRING, .nullable = true),
	PROCESS(host, STRING, .nullable = true),
	PROCESS(container_name, STRING, .nullable = true),
};

#define COLUMNS(c) .columns = c, .column_cnt = sizeof(c) / sizeof(*(c))

static const struct table frames_table = {
	.name = "element",
	COLUMNS(frame_columns),
	.row_sz = sizeof(struct row_frame),
	.present_off = offsetof(struct row_frame, has_file_offset),
};

const struct table events_table = {
	.name = "events",
	COLUMNS(event_columns),
	.row_sz = sizeof(struct row),
	.present_off = offsetof(struct row, present),
	.sorted = true,
};

const struct table processes_table = {
	.name = "processes",
	COLUMNS(process_columns),
	.row_sz = sizeof(struct process_row),
	.present_off = offsetof(struct process_row, present),
};

const struct table stacktraces_table = {
	.name = "stacktraces",
	COLUMNS(stack_columns),
	.row_sz = sizeof(struct stack_row),
	.list_name = "frames",
	.list = &frames_table,
};

_Static_assert(sizeof(event_columns) / sizeof(*event_columns) <= TABLE_COLUMNS_MAX, "room");
