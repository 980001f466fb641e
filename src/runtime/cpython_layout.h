/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of CPython that are read: indexes of struct runtime_layout.at. */
#ifndef RUNTIME_CPYTHON_LAYOUT_H
#define RUNTIME_CPYTHON_LAYOUT_H

#include "runtime/runtime.h"

#define VERSION(major, minor) ((major) << 8 | (minor))

enum cpython_at {
	AT_INTERPRETERS, /* _PyRuntimeState: interpreters.head */
	AT_INTERP_NEXT,	 /* PyInterpreterState */
	AT_INTERP_THREADS,
	AT_THREAD_NEXT, /* PyThreadState */
	AT_THREAD_ID,
	AT_THREAD_FIRST,    /* current_frame, or up to 3.12 cframe */
	AT_CFRAME_CURRENT,  /* _PyCFrame */
	AT_CFRAME_PREVIOUS, /* only in 3.11: there a run ends with a call that `is_entry` */
	AT_FRAME_CODE,	    /* _PyInterpreterFrame, or up to 3.10 PyFrameObject */
	AT_FRAME_PREVIOUS,
	AT_FRAME_INSTR, /* up to 3.10 f_lasti */
	AT_FRAME_OWNER, /* one byte; in 3.11 is_entry; before, nothing */
	AT_CODE_FILE,	/* PyCodeObject */
	AT_CODE_NAME,
	AT_CODE_LINES,
	AT_CODE_FIRST_LINE,
	AT_CODE_BYTES,	/* up to 3.10 a pointer to them */
	AT_TEXT_LENGTH, /* PyASCIIObject */
	AT_TEXT_STATE,
	AT_TEXT_ASCII,	/* its size: where ASCII text begins */
	AT_TEXT_OTHER,	/* size of PyCompactUnicodeObject */
	AT_BYTES,	/* PyBytesObject: ob_sval */
	AT_OBJECT_TYPE, /* PyObject */
	AT_OBJECT_SIZE, /* PyVarObject */
	AT_TYPE_NAME,	/* PyTypeObject */
	AT_CODE_COPIES, /* co_tlbc, free-threaded builds from 3.14 on; 0 or AT_NONE: none */
	AT_CNT
};

#define AT_NONE UINT32_MAX

_Static_assert(AT_CNT <= RUNTIME_OFFSETS, "room");

/* Up to 3.10, a thread's calls are objects, each with an activation of the C function. */
static inline bool cpython__has_frame_objects(const struct runtime_layout *l)
{
	return l->version < VERSION(3, 11);
}

int cpython__read(struct remote *, const struct runtime_layout *, uint64_t code,
		  struct script_function *);

/*
 * Decodes a line table (Objects/locations.md of CPython 3.11 and newer) into the function's places.
 * Returns 0, or -EINVAL for a table that ends in the middle of an entry; what was decoded stays.
 */
int cpython__decode_lines(struct script_function *, const uint8_t *table, size_t sz);
/* Like cpython__decode_lines(), for 3.10 and 3.9 (Objects/lnotab_notes.txt there). */
int cpython__decode_line_pairs(struct script_function *, const uint8_t *table, size_t sz);
int cpython__decode_lnotab(struct script_function *, const uint8_t *table, size_t sz);

#endif
