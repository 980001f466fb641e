/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process with Ruby 3.3, in a file without a name: offsets in it are addresses. */
#ifndef UNIT_FAKERUBY_H
#define UNIT_FAKERUBY_H

#include "lib/fakememory.h"
#include "runtime/ruby_layout.h"

#define FAKE_API_VERSION 0x10000 /* ruby_api_version */
#define FAKE_SYMBOLS	 0x3f100 /* ruby_global_symbols */
#define FAKE_OBJECT	 0x40000 /* rb_cObject */
#define FAKE_STDOUT	 0x40008 /* rb_stdout */
#define FAKE_VM_POINTER	 0x40800
#define FAKE_VM		 0x50000
#define FAKE_THREAD	 0x51000
#define FAKE_EC		 0x52000
#define FAKE_NATIVE	 0x53000
#define FAKE_SELF	 0x60000
#define FAKE_IDS	 0x70000
#define FAKE_METHOD	 0x7a000
#define FAKE_DEF	 0x7a100
#define FAKE_ISEQ	 0x80000
#define FAKE_BODY	 0x81000
#define FAKE_CODE	 0x82000
#define FAKE_ENTRIES	 0x83000
#define FAKE_INDEX	 0x84000
#define FAKE_TEXTS	 0x85000
#define FAKE_SZ		 0x100000

#define FAKE_EACH 300 /* serial of a symbol */

static inline int fake__new(void)
{
	return fake__memory("fakeruby", FAKE_SZ);
}

static inline struct runtime_layout fake__layout(void)
{
	return (struct runtime_layout){ .runtime = &ruby,
					.code_mask = UINT64_MAX,
					.heaps = FAKE_SYMBOLS,
					.version = 0x303,
					.at = { [RUBY_THREAD_NATIVE] = 40,
						[RUBY_ID] = 16,
						[RUBY_THREAD_EC] = 48,
						[RUBY_FRAME_SIZE] = 56,
						[RUBY_BODY_INFO] = 112,
						[RUBY_EMBEDDED_TEXT] = 24 } };
}

/* An embedded String. */
static inline uint64_t fake__text(int fd, uint64_t addr, const char *text)
{
	fake__word(fd, addr, RUBY_TYPE_STRING);
	fake__word(fd, addr + 16, strlen(text));
	fake__put(fd, addr + 24, text, strlen(text));
	return addr;
}

/* The VM with its main thread, and the table of symbols. */
static inline void fake__vm(int fd)
{
	fake__u32(fd, FAKE_API_VERSION, 3);
	fake__u32(fd, FAKE_API_VERSION + 4, 3);
	fake__word(fd, FAKE_STDOUT, FAKE_TEXTS);
	fake__word(fd, FAKE_VM_POINTER, FAKE_VM);
	fake__word(fd, FAKE_VM + RUBY_VM_MAIN_THREAD, FAKE_THREAD);
	fake__word(fd, FAKE_THREAD + RUBY_THREAD_VM, FAKE_VM);
	fake__word(fd, FAKE_THREAD + 40, FAKE_NATIVE);
	fake__word(fd, FAKE_THREAD + 48, FAKE_EC);
	fake__word(fd, FAKE_EC + RUBY_EC_THREAD, FAKE_THREAD);
	fake__word(fd, FAKE_NATIVE + 16, FAKE_SELF);
	fake__word(fd, FAKE_SELF - 8, FAKE_EC);
	/* ids: an embedded Array with an Array that is not embedded. */
	fake__word(fd, FAKE_SYMBOLS, 5000);
	fake__word(fd, FAKE_SYMBOLS + 16, FAKE_IDS);
	fake__word(fd, FAKE_IDS, RUBY_TYPE_ARRAY | RUBY_FLAG_USER1);
	fake__word(fd, FAKE_IDS + 16, FAKE_IDS + 0x100);
	fake__word(fd, FAKE_IDS + 0x100, RUBY_TYPE_ARRAY);
	fake__word(fd, FAKE_IDS + 0x110, 1024);
	fake__word(fd, FAKE_IDS + 0x120, FAKE_IDS + 0x200);
	fake__word(fd, FAKE_IDS + 0x200 + 16 * '+', fake__text(fd, FAKE_IDS + 0x8000, "+"));
	fake__word(fd, FAKE_IDS + 0x200 + 16 * FAKE_EACH,
		   fake__text(fd, FAKE_IDS + 0x8040, "each"));
}

#define FAKE_IMEMO(type) (RUBY_TYPE_IMEMO | (uint64_t)(type) << 12)

static inline void fake__method(int fd, uint64_t id)
{
	fake__word(fd, FAKE_METHOD, FAKE_IMEMO(6));
	fake__word(fd, FAKE_METHOD + 16, FAKE_DEF);
	fake__word(fd, FAKE_DEF + 8, 0x123456);
	fake__word(fd, FAKE_DEF + 32, id);
}

/* An instruction sequence of 700 words from line 10 on. Lines begin at the words 0 (10), 3 (11),
 * 60 (12) and 600 (13). */
static inline void fake__iseq(int fd)
{
	static const uint32_t lines[][3] = { { 10 }, { 11 }, { 12 }, { 13 } };
	uint64_t index[6 + 2 * 10] = { 0 };

	for (unsigned i = 0; i < 54; i++)
		index[i / 9] |= (i < 3 ? 1ull : 2ull) << i % 9 * 7;
	index[6 + 2] = 1ull << (60 - 54);
	index[6 + 10 + 2 + (600 - 54 - 512) / 64] = 1ull << (600 - 54 - 512) % 64;
	fake__word(fd, FAKE_ISEQ, FAKE_IMEMO(7));
	fake__word(fd, FAKE_ISEQ + 16, FAKE_BODY);
	fake__u32(fd, FAKE_BODY, 1); /* a method */
	fake__u32(fd, FAKE_BODY + 4, 700);
	fake__word(fd, FAKE_BODY + 8, FAKE_CODE);
	fake__word(fd, FAKE_BODY + 64, fake__text(fd, FAKE_TEXTS, "/srv/app.rb"));
	fake__word(fd, FAKE_BODY + 80, fake__text(fd, FAKE_TEXTS + 0x100, "block in run"));
	fake__u32(fd, FAKE_BODY + 88, 10);
	fake__word(fd, FAKE_BODY + 112, FAKE_ENTRIES);
	fake__u32(fd, FAKE_BODY + 128, 4);
	fake__word(fd, FAKE_BODY + 136, FAKE_INDEX);
	fake__put(fd, FAKE_ENTRIES, lines, sizeof(lines));
	fake__put(fd, FAKE_INDEX, index, sizeof(index));
}

#endif
