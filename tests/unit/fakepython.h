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
						[AT_BYTES] = 32 } };
}

#define FAKE_ASCII 0x64 /* state of a str: one byte per character, compact, ASCII */
#define FAKE_WIDE  0x28 /* two bytes per character, compact */

static inline void fake__ascii(int fd, uint64_t addr, const char *text)
{
	fake__word(fd, addr + 16, strlen(text));
	fake__u32(fd, addr + 32, FAKE_ASCII);
	fake__put(fd, addr + 48, text, strlen(text));
}

/* A code object of 3.11 with 8 code units, from line 10 on, in two lines. */
static inline void fake__code(int fd)
{
	static const uint8_t lines[] = { 0xf3, 0x02, 0x05, 0x83, 0x00 };

	fake__word(fd, FAKE_CODE + 8, FAKE_TYPE);
	fake__word(fd, FAKE_TYPE + 24, FAKE_TEXTS);
	fake__put(fd, FAKE_TEXTS, "code", 5);
	fake__word(fd, FAKE_CODE + 16, 8);
	fake__u32(fd, FAKE_CODE + 72, 10);
	fake__word(fd, FAKE_CODE + 112, FAKE_TEXTS + 0x100);
	fake__ascii(fd, FAKE_TEXTS + 0x100, "/srv/app.py");
	fake__word(fd, FAKE_CODE + 128, FAKE_TEXTS + 0x200);
	fake__ascii(fd, FAKE_TEXTS + 0x200, "App.run");
	fake__word(fd, FAKE_CODE + 136, FAKE_TEXTS + 0x300);
	fake__word(fd, FAKE_TEXTS + 0x300 + 16, sizeof(lines));
	fake__put(fd, FAKE_TEXTS + 0x300 + 32, lines, sizeof(lines));
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

#endif
