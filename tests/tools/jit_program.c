// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that makes code while it runs and tells about it, for as long as it is told to work.
 *
 * jit_program MILLISECONDS dump|frames|map|listed [FOLDER]
 *
 * One half of the time a function "first" runs, then another one, "second", at the same address;
 * both are called by "caller". It tells so in FOLDER/jit-PID.dump, where times are (and "caller" is
 * moved in between), or in /tmp/perf-PID.map, each when it begins. With `frames` "caller" has no
 * frame pointer, and call-frame information in the dump; it stays where it is. With `listed` there
 * is the map, and that call-frame information is in an image that is listed for gdb.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/monotonic.h"
#include "lib/gdb_image.h"

extern struct gdb_descriptor __jit_debug_descriptor; /* the name is gdb's */
struct gdb_descriptor __jit_debug_descriptor = { .version = 1 };

static volatile sig_atomic_t stop;

typedef void (*inner_fn)(void);
typedef void (*caller_fn)(inner_fn, volatile sig_atomic_t *);

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const uint8_t caller_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* 1: cmpl $0,(%rsi); je 1b; ret */
static const uint8_t spin_code[] = { 0x83, 0x3e, 0x00, 0x74, 0xfb, 0xc3 };

/* sub $24,%rsp; call *%rdi; add $24,%rsp; ret */
static const uint8_t bare_caller_code[] = { 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
					    0x48, 0x83, 0xc4, 0x18, 0xc3 };

struct told {
	int fd;
	bool dump, frames;
	uint64_t index;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void tell(const struct told *t, struct buf *b)
{
	must(buf__err(b) == 0 && write(t->fd, b->data, b->sz) == (ssize_t)b->sz, "write");
	buf__free(b);
}

static void begin_dump(struct told *t, const char *folder)
{
	struct buf b = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", folder, getpid());
	t->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(t->fd >= 0, path);
	buf__u32(&b, 0x4a695444);
	buf__u32(&b, 1);
	buf__u32(&b, 40);
	buf__u32(&b, 62); /* EM_X86_64 */
	buf__u32(&b, 0);
	buf__u32(&b, (uint32_t)getpid());
	buf__u64(&b, monotonic__ns());
	buf__u64(&b, 0);
	tell(t, &b);
	must(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, t->fd, 0) != MAP_FAILED, "mmap");
}

static void begin_map(struct told *t)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(t->fd >= 0, path);
}

static void head(struct buf *b, uint32_t id, size_t sz)
{
	buf__u32(b, id);
	buf__u32(b, (uint32_t)sz);
	buf__u64(b, monotonic__ns());
	if (id == 3) /* the end */
		return;
	buf__u32(b, (uint32_t)getpid());
	buf__u32(b, (uint32_t)gettid());
}

static void tell_load(struct told *t, const void *at, size_t sz, const char *name)
{
	struct buf b = { 0 };

	if (!t->dump) {
		buf__printf(&b, "%lx %zx %s\n", (unsigned long)at, sz, name);
		tell(t, &b);
		return;
	}
	head(&b, 0, 56 + strlen(name) + 1 + sz);
	buf__u64(&b, (uintptr_t)at);
	buf__u64(&b, (uintptr_t)at);
	buf__u64(&b, sz);
	buf__u64(&b, ++t->index);
	buf__str(&b, name);
	buf__u8(&b, 0);
	buf__append(&b, at, sz);
	tell(t, &b);
}

/* .eh_frame as it is after the code, at the next multiple of 8 (DWARF 5, 6.4; LSB 5, 10.6). */
static void tell_frames(struct told *t, const uint8_t *at, size_t sz)
{
	static const uint8_t cie[] = { 20, 0,	 0,  0, 0,    0,    0, 0, 1,	'z', 'R', 0,
				       1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,	  0 };
	static const uint8_t rows[] = { 0, 0x44, 0x0e, 32, 0x46, 0x0e, 8 };
	const uint8_t *frames = at + (sz + 7) / 8 * 8;
	struct buf b = { 0 }, f = { 0 };

	buf__append(&f, cie, sizeof(cie));
	buf__u32(&f, 20);
	buf__u32(&f, sizeof(cie) + 4); /* back to the CIE */
	buf__u32(&f, (uint32_t)(at - (frames + sizeof(cie) + 8)));
	buf__u32(&f, (uint32_t)sz);
	buf__append(&f, rows, sizeof(rows));
	buf__u8(&f, 0);
	buf__u32(&f, 0); /* the end */
	buf__u32(&b, 4);
	buf__u32(&b, (uint32_t)(40 + f.sz));
	buf__u64(&b, monotonic__ns());
	buf__u64(&b, f.sz);
	buf__u64(&b, 0);
	buf__u64(&b, 0);
	buf__append(&b, f.data, f.sz);
	buf__free(&f);
	tell(t, &b);
}

static void list(const uint8_t *code, size_t sz)
{
	static struct gdb_listed listed;
	static struct buf image;

	gdb_image__make(&image, (uintptr_t)code, sz, 32);
	must(buf__err(&image) == 0, "memory");
	listed = (struct gdb_listed){ .image = image.data, .sz = image.sz };
	__jit_debug_descriptor = (struct gdb_descriptor){ 1, 1, &listed, &listed };
}

static void tell_move(struct told *t, const void *from, const void *to, size_t sz)
{
	struct buf b = { 0 };

	head(&b, 1, 64);
	buf__u64(&b, (uintptr_t)to);
	buf__u64(&b, (uintptr_t)from);
	buf__u64(&b, (uintptr_t)to);
	buf__u64(&b, sz);
	buf__u64(&b, 1);
	tell(t, &b);
}

static void on_alarm(int sig)
{
	(void)sig;
	stop = 1;
}

static void run(const uint8_t *caller, const uint8_t *inner, long ms)
{
	struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 } };

	stop = 0;
	setitimer(ITIMER_PROF, &timer, NULL);
	((caller_fn)(uintptr_t)caller)((inner_fn)(uintptr_t)inner, &stop);
}

static size_t write_code(uint8_t *code, bool bare)
{
	size_t sz = bare ? sizeof(bare_caller_code) : sizeof(caller_code);

	memcpy(code, bare ? bare_caller_code : caller_code, sz);
	memcpy(code + 512, spin_code, sizeof(spin_code));
	return sz;
}

static void begin_to_tell(struct told *t, const char *folder)
{
	if (t->dump)
		begin_dump(t, folder);
	else
		begin_map(t);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	bool listed = !strcmp(how, "listed");
	struct told told = { .dump = strcmp(how, "map") != 0 && !listed,
			     .frames = !strcmp(how, "frames") };
	long ms = argc > 2 ? atol(argv[1]) / 2 : 0;
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool moves = told.dump && !told.frames;
	size_t sz;

	must(code != MAP_FAILED && argc > 2,
	     "jit_program MILLISECONDS dump|frames|map|listed [FOLDER]");
	signal(SIGPROF, on_alarm);
	sz = write_code(code, told.frames || listed);
	begin_to_tell(&told, argc > 3 ? argv[3] : "/tmp");
	if (told.frames)
		tell_frames(&told, code, sz);
	if (listed)
		list(code, sz);
	tell_load(&told, code, sz, "caller");
	tell_load(&told, code + 512, sizeof(spin_code), "first");
	run(code, code + 512, ms);
	tell_load(&told, code + 512, sizeof(spin_code), "second");
	if (moves) {
		memcpy(code + 4096, code, sz);
		tell_move(&told, code, code + 4096, sz);
	}
	run(code + (moves ? 4096 : 0), code + 512, ms);
	return 0;
}
