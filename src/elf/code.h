/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of an ELF file, and recognition of the instructions around an address. */
#ifndef ELF_CODE_H
#define ELF_CODE_H

#include "elf/elffile.h"

/* Reads sz bytes at a file offset. Returns 0, -EIO if the file does not hold them, or -errno. */
int elf_file__read(const struct elf_file *, uint64_t off, void *to, size_t sz);
/* Like elf_file__read(), but does not wait for a disk. Returns -EAGAIN if the kernel does not have
 * all of it in memory, and -EOPNOTSUPP if the kernel cannot tell. */
int elf_file__read_now(const struct elf_file *, uint64_t off, void *to, size_t sz);

typedef int (*elf_file_read_fn)(const struct elf_file *, uint64_t off, void *to, size_t sz);

/* The code around a link-time address. */
struct elf_code {
	const struct machine *machine;
	uint64_t vaddr;
	uint64_t before_off, at_off; /* file offsets; UINT64_MAX: not in code */
	uint8_t before[8];	     /* the 7 bytes before `vaddr`, and a 0 */
	uint8_t at[9];
	bool has_before, has_at;
};

/* Returns the file offsets of the code. Reads nothing. */
struct elf_code elf_code__at(const struct elf_file *, uint64_t vaddr);
void elf_code__read(struct elf_code *, int fd);
void elf_code__copy(struct elf_code *, const struct elf_file *); /* also reads images in memory */
/* Like elf_code__copy(), but does not wait for a disk. Returns false if the kernel does not have
 * all of it in memory. */
bool elf_code__read_now(struct elf_code *, const struct elf_file *);

/* Returns whether bytes between two functions are padding: nops, int3, zeros. */
bool elf_code__is_padding(const struct machine *, const uint8_t *bytes, size_t sz);

/*
 * Returns whether the bytes are the start of glibc's __start_context, to which a coroutine's
 * function returns (sysdeps/unix/sysv/linux/x86_64/__start_context.S): mov %rbx,%rsp; mov
 * (%rsp),%rdi. That function leaves the stack on which it is called, which its call-frame
 * information does not express.
 */
#define CODE_START_CONTEXT_SZ 7
bool elf_code__is_start_context(const struct machine *, const uint8_t bytes[CODE_START_CONTEXT_SZ]);
bool elf_code__starts_context(const struct elf_code *); /* checks the bytes at `vaddr` */

/*
 * Returns whether the address is in Go's runtime.goexit, to which goroutines return: nop, call,
 * nop. The planted return address is after the first nop (asm_amd64.s).
 */
bool elf_code__in_goexit(const struct elf_code *);

/* Returns whether the bytes before the address are a call instruction. */
bool elf_code__after_call(const struct elf_code *);
/* Return whether the bytes before the address are a nop of five bytes, or a clone or clone3 system
 * call. */
bool elf_code__after_nop(const struct elf_code *);
bool elf_code__after_clone(const struct elf_code *);
/*
 * The code to which signal handlers return: mov $SYS_rt_sigreturn, %rax; syscall, or mov x8,
 * #SYS_rt_sigreturn; svc #0.
 */
struct code_pattern {
	uint8_t bytes[9], sz, first_sz; /* sz: of both instructions; first_sz: of the first */
};

const struct code_pattern *elf_code__sigreturn_code(const struct machine *);
/* Returns whether the address is that of one of the two instructions, or, in Go, of the instruction
 * after them (the pc during the system call). The file must have a machine. */
bool elf_code__sigreturn(const struct elf_code *);

#endif
