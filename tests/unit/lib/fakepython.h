/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process with CPython, in a file without a name: offsets in it are addresses. */
#ifndef UNIT_FAKEPYTHON_H
#define UNIT_FAKEPYTHON_H

#include "lib/fakememory.h"
#include "runtime/cpython_layout.h"

#define FAKE_RUNTIME	 0x10000 /* _PyRuntime */
#define FAKE_VERSION	 0x18000 /* Py_Version */
#define FAKE_INTERPRETER 0x20000
#define FAKE_THREADS	 0x30000 /* a page for the state of each */
#define FAKE_SELF	 0x50000 /* 16 pages for the descriptor of each */
#define FAKE_CODE	 0x200000
#define FAKE_TYPE	 0x201000
#define FAKE_TEXTS	 0x202000
#define FAKE_COPIES	 0x203000

static inline int fake__new(void)
{
	return fake__memory("fakepython", 0x400000);
}

/* Layout of 3.11. */
static inline struct runtime_layout fake__layout(void)
{
	return (struct runtime_layout){ .runtime = &cpython,
					.code_mask = ~7ull,
					.cookie_off = 72,
					.cookie = { 0, 7, 8 },
					.version = 0x30b,
					.at = { [AT_FRAME_OWNER] = 68,
						[AT_CFRAME_PREVIOUS] = 16,
						[AT_CODE_FILE] = 112,
						[AT_CODE_NAME] = 128,
						[AT_CODE_LINES] = 136,
						[AT_CODE_FIRST_LINE] = 72,
						[AT_CODE_BYTES] = 184,
						[AT_TEXT_LENGTH] = 16,
						[AT_TEXT_STATE] = 32,
						[AT_TEXT_ASCII] = 48,
						[AT_TEXT_OTHER] = 72,
						[AT_BYTES] = 32,
						[AT_OBJECT_TYPE] = 8,
						[AT_OBJECT_SIZE] = 16,
						[AT_TYPE_NAME] = 24 } };
}

#define FAKE_ASCII 0x64 /* state of a str: one byte per character, compact, ASCII */
#define FAKE_WIDE  0x28 /* two bytes per character, compact */

/* struct _object and what depends on its size, as in free-threaded builds of 3.14. */
static inline struct runtime_layout fake__free_threaded(void)
{
	struct runtime_layout l = fake__layout();

	l.version = 0x30e;
	l.cookie_off = 80;
	l.cookie[1] = 8;
	l.cookie[2] = 9;
	l.at[AT_OBJECT_TYPE] = 24;
	l.at[AT_OBJECT_SIZE] = 32;
	l.at[AT_TYPE_NAME] = 40;
	l.at[AT_CODE_FILE] = 128;
	l.at[AT_CODE_NAME] = 144;
	l.at[AT_CODE_LINES] = 152;
	l.at[AT_CODE_FIRST_LINE] = 84;
	l.at[AT_CODE_COPIES] = 224;
	l.at[AT_CODE_BYTES] = 232;
	l.at[AT_TEXT_LENGTH] = 32;
	l.at[AT_TEXT_STATE] = 48;
	l.at[AT_TEXT_ASCII] = 56;
	l.at[AT_BYTES] = 48;
	return l;
}

static inline void fake__ascii(int fd, const struct runtime_layout *l, uint64_t addr,
			       const char *text)
{
	fake__word(fd, addr + l->at[AT_TEXT_LENGTH], strlen(text));
	fake__u32(fd, addr + l->at[AT_TEXT_STATE], FAKE_ASCII);
	fake__put(fd, addr + l->at[AT_TEXT_ASCII], text, strlen(text));
}

/* A code object with 8 code units, from line 10 on, in two lines. */
static inline void fake__code(int fd, const struct runtime_layout *l)
{
	static const uint8_t lines[] = { 0xf3, 0x02, 0x05, 0x83, 0x00 };

	fake__word(fd, FAKE_CODE + l->at[AT_OBJECT_TYPE], FAKE_TYPE);
	fake__word(fd, FAKE_TYPE + l->at[AT_TYPE_NAME], FAKE_TEXTS);
	fake__put(fd, FAKE_TEXTS, "code", 5);
	fake__word(fd, FAKE_CODE + l->at[AT_OBJECT_SIZE], 8);
	fake__u32(fd, FAKE_CODE + l->at[AT_CODE_FIRST_LINE], 10);
	fake__word(fd, FAKE_CODE + l->at[AT_CODE_FILE], FAKE_TEXTS + 0x100);
	fake__ascii(fd, l, FAKE_TEXTS + 0x100, "/srv/app.py");
	fake__word(fd, FAKE_CODE + l->at[AT_CODE_NAME], FAKE_TEXTS + 0x200);
	fake__ascii(fd, l, FAKE_TEXTS + 0x200, "App.run");
	fake__word(fd, FAKE_CODE + l->at[AT_CODE_LINES], FAKE_TEXTS + 0x300);
	fake__word(fd, FAKE_TEXTS + 0x300 + l->at[AT_OBJECT_SIZE], sizeof(lines));
	fake__put(fd, FAKE_TEXTS + 0x300 + l->at[AT_BYTES], lines, sizeof(lines));
}

/* The threads' copies of the code, of which there are `cnt`; 0: a thread that has none. */
static inline void fake__copies(int fd, const struct runtime_layout *l, const uint64_t *copies,
				size_t cnt)
{
	fake__word(fd, FAKE_CODE + l->at[AT_CODE_COPIES], FAKE_COPIES);
	fake__word(fd, FAKE_COPIES, cnt);
	fake__put(fd, FAKE_COPIES + 8, copies, cnt * sizeof(*copies));
}

/* The state of 3.11 with so many threads; each has its state's address `slot` bytes from its
 * descriptor on. */
static inline void fake__threads(int fd, size_t cnt, int64_t slot)
{
	fake__word(fd, FAKE_VERSION, 0x030b02f0);
	fake__word(fd, FAKE_RUNTIME + 40, FAKE_INTERPRETER);
	fake__word(fd, FAKE_INTERPRETER + 16, cnt ? FAKE_THREADS : 0);
	for (size_t i = 0; i < cnt; i++) {
		uint64_t state = FAKE_THREADS + i * 4096, self = FAKE_SELF + i * 65536;

		fake__word(fd, state + 8, i + 1 < cnt ? state + 4096 : 0);
		fake__word(fd, state + 152, self);
		fake__word(fd, self + (uint64_t)slot, state);
	}
}

/* Offsets that a process says itself, all the same. */
static inline void fake__described(int fd, uint64_t version, uint64_t offset)
{
	fake__put(fd, FAKE_RUNTIME, "xdebugpy", 8);
	fake__word(fd, FAKE_RUNTIME + 8, version);
	for (uint64_t at = 24; at < 800; at += 8)
		fake__word(fd, FAKE_RUNTIME + at, offset);
}

#endif
