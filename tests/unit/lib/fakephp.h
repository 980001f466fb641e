/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process with PHP 8.2, in a file without a name: offsets in it are addresses. */
#ifndef UNIT_FAKEPHP_H
#define UNIT_FAKEPHP_H

#include "lib/fakememory.h"
#include "runtime/php_layout.h"

#define FAKE_MODULES  0x10000 /* module_registry */
#define FAKE_BUCKETS  0x10100
#define FAKE_MODULE   0x10200
#define FAKE_GLOBALS  0x11000 /* executor_globals */
#define FAKE_EXECUTE  0x12000 /* execute_ex() */
#define FAKE_FUNCTION 0x20000 /* of the program */
#define FAKE_INTERNAL 0x20200
#define FAKE_CLASS    0x20400
#define FAKE_OPS      0x21000
#define FAKE_TEXTS    0x22000
#define FAKE_NAME     FAKE_TEXTS
#define FAKE_FILE     (FAKE_TEXTS + 0x100)
#define FAKE_SZ	      0x40000

#define FAKE_API     20220829u
#define FAKE_HANDLER 0x123456

static inline int fake__new(void)
{
	return fake__memory("fakephp", FAKE_SZ);
}

static inline struct runtime_layout fake__layout(void)
{
	return (struct runtime_layout){ .runtime = &php,
					.code_mask = UINT64_MAX,
					.cookie = { 9, 11, 19 },
					.version = FAKE_API,
					.at = { [PHP_HANDLER] = 72,
						[PHP_MODULE] = 80,
						[PHP_OPS_CNT] = 80,
						[PHP_OPS] = 88,
						[PHP_FILE] = 152,
						[PHP_LINE] = 160,
						[PHP_FRAME] = 488,
						[PHP_RETURN] = 152 } };
}

/* zend_inline_hash_func() */
static inline uint64_t fake__hash(const char *text, size_t sz)
{
	uint64_t hash = 5381;

	for (size_t i = 0; i < sz; i++)
		hash = hash * 33 + (uint8_t)text[i];
	return hash | 1ull << 63;
}

static inline void fake__string(int fd, uint64_t at, const char *text, size_t sz)
{
	fake__word(fd, at + 8, fake__hash(text, sz));
	fake__word(fd, at + 16, sz);
	fake__put(fd, at + 24, (const char[16]){ 0 }, 16);
	fake__put(fd, at + 24, text, sz);
}

/* PHP with one module; the first request has begun. */
static inline void fake__php(int fd)
{
	static const uint8_t execute[] = { 0x41, 0x55, 0x41, 0x54, 0x55,
					   0x53, 0x48, 0x83, 0xec, 0x78 };

	fake__word(fd, FAKE_MODULES + 16, FAKE_BUCKETS);
	fake__u32(fd, FAKE_MODULES + 24, 1);
	fake__word(fd, FAKE_BUCKETS, FAKE_MODULE);
	fake__u32(fd, FAKE_MODULE + 4, FAKE_API);
	fake__word(fd, FAKE_GLOBALS + PHP_GLOBALS_SELF, FAKE_GLOBALS + PHP_GLOBALS_SELF);
	fake__put(fd, FAKE_EXECUTE, execute, sizeof(execute));
}

/* App::run() in /srv/app.php, with four instructions in the lines 10, 10, 12, 11. */
static inline void fake__function(int fd)
{
	static const uint32_t lines[] = { 10, 10, 12, 11 };

	fake__u32(fd, FAKE_FUNCTION, PHP_USER);
	fake__word(fd, FAKE_FUNCTION + 8, FAKE_NAME);
	fake__word(fd, FAKE_FUNCTION + 16, FAKE_CLASS);
	fake__word(fd, FAKE_CLASS + 8, FAKE_TEXTS + 0x200);
	fake__u32(fd, FAKE_FUNCTION + 80, 4);
	fake__word(fd, FAKE_FUNCTION + 88, FAKE_OPS);
	fake__word(fd, FAKE_FUNCTION + 152, FAKE_FILE);
	fake__u32(fd, FAKE_FUNCTION + 160, 9);
	for (size_t i = 0; i < 4; i++)
		fake__u32(fd, FAKE_OPS + i * PHP_OP_SZ + PHP_OP_LINE, lines[i]);
	fake__string(fd, FAKE_NAME, "run", 3);
	fake__string(fd, FAKE_FILE, "/srv/app.php", 12);
	fake__string(fd, FAKE_TEXTS + 0x200, "App", 3);
}

/* usort() of the extension `standard`. */
static inline void fake__internal(int fd)
{
	fake__u32(fd, FAKE_INTERNAL, CAPTURE_PHP_INTERNAL);
	fake__word(fd, FAKE_INTERNAL + 8, FAKE_TEXTS + 0x300);
	fake__string(fd, FAKE_TEXTS + 0x300, "usort", 5);
	fake__word(fd, FAKE_INTERNAL + 72, FAKE_HANDLER);
	fake__word(fd, FAKE_INTERNAL + 80, FAKE_MODULE);
	fake__word(fd, FAKE_MODULE + PHP_MODULE_NAME, FAKE_TEXTS + 0x400);
	fake__put(fd, FAKE_TEXTS + 0x400, "standard", 9);
}

/* The cookie if a function of that type and name (NULL: none) were in the place of App::run(). */
static inline uint64_t fake__cookie(uint64_t type, const char *name)
{
	uint64_t words[CAPTURE_PHP_STRING_WORDS] = { 0 };

	words[CAPTURE_PHP_LENGTH] = name ? strlen(name) : 0;
	memcpy(words + 3, name ? name : "", words[2] < 16 ? words[2] : 16);
	return CAPTURE_PHP_COOKIE(type, name ? CAPTURE_PHP_TEXT(words) : 0, (uint64_t)FAKE_OPS,
				  fake__hash("/srv/app.php", 12));
}

#define FAKE_INTERNAL_COOKIE \
	CAPTURE_PHP_COOKIE(1ull, (uint64_t)(FAKE_TEXTS + 0x300), 0ull, (uint64_t)FAKE_HANDLER)

#endif
