/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of an ELF file, and what the instructions around an address are. */
#ifndef UNWIND_TEXT_H
#define UNWIND_TEXT_H

#include "process/elffile.h"

/* sz bytes from a file offset. 0; -EIO when the file does not hold them; -errno. */
int elf_file__read(const struct elf_file *, uint64_t off, void *to, size_t sz);

/* Whether the bytes before the link-time address `pc` are a call instruction. */
bool text__after_call(const struct elf_file *, uint64_t pc);
/* Whether `pc` is where signal handlers return to: mov $SYS_rt_sigreturn, %rax; syscall. */
bool text__sigreturn(const struct elf_file *, uint64_t pc);

#endif
