/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of an ELF file, and what the instructions around an address are. */
#ifndef UNWIND_TEXT_H
#define UNWIND_TEXT_H

#include "process/elffile.h"

/* sz bytes from a file offset. 0; -EIO when the file does not hold them; -errno. */
int elf_file__read(const struct elf_file *, uint64_t off, void *to, size_t sz);
/* The same for who must not wait for a disk: -EAGAIN when the kernel has not all of it in memory,
 * or cannot say (-EOPNOTSUPP). */
int elf_file__read_now(const struct elf_file *, uint64_t off, void *to, size_t sz);

typedef int (*elf_file_read_fn)(const struct elf_file *, uint64_t off, void *to, size_t sz);

/* The code around a link-time address. */
struct text {
	const struct machine *machine;
	uint64_t vaddr;
	uint64_t before_off, at_off; /* in the file; UINT64_MAX: it is no code */
	uint8_t before[8];	     /* the 7 before it, and a 0 */
	uint8_t at[9];
	bool has_before, has_at;
};

/* Where it is; nothing is read. */
struct text text__at(const struct elf_file *, uint64_t vaddr);
void text__read(struct text *, int fd);
void text__copy(struct text *, const struct elf_file *); /* the same for any file */
/* The same for who must not wait for a disk. False: the kernel has not all of it in memory. */
bool text__read_now(struct text *, const struct elf_file *);

/* Whether bytes between two functions are padding: nops, int3, zeros. */
bool text__is_padding(const struct machine *, const uint8_t *bytes, size_t sz);

/*
 * Whether they are what glibc's __start_context begins with, to which a coroutine's function
 * returns (sysdeps/unix/sysv/linux/x86_64/__start_context.S): mov %rbx,%rsp; mov (%rsp),%rdi. It
 * leaves the stack that it is called on, which its call-frame information does not say.
 */
#define TEXT_START_CONTEXT_SZ 7
bool text__is_start_context(const struct machine *, const uint8_t bytes[TEXT_START_CONTEXT_SZ]);
bool text__starts_context(const struct text *); /* at the address */

/*
 * Whether the address is in Go's runtime.goexit, to which goroutines return: nop, call, nop. It is
 * planted behind the first nop (asm_amd64.s).
 */
bool text__in_goexit(const struct text *);

/* Whether the bytes before the address are a call instruction. */
bool text__after_call(const struct text *);
/* The same of a nop of five bytes, and of a system call that makes a thread or process. */
bool text__after_nop(const struct text *);
bool text__after_clone(const struct text *);
/*
 * Where signal handlers return to: mov $SYS_rt_sigreturn, %rax; syscall, or mov x8,
 * #SYS_rt_sigreturn; svc #0. The file has a machine.
 */
struct text_pattern {
	uint8_t bytes[9], sz, first_sz; /* of both instructions, of the first */
};

const struct text_pattern *text__sigreturn_code(const struct machine *);
/* Whether the address is that of one of the two instructions, or of what Go has behind them: in the
 * system call. */
bool text__sigreturn(const struct text *);

#endif
