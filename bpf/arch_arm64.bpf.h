/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AArch64; see arch.bpf.h. */
#ifndef ARCH_ARM64_BPF_H
#define ARCH_ARM64_BPF_H

#include "vmlinux.h"
#include <asm/unistd.h>

#include "bpf/config.h"
#include "bpf/event.h"

extern const volatile struct capture_config cfg;

#define ARCH_PAGE (cfg.page_sz) /* 4, 16 or 64 KB, depending on the kernel's configuration */

#define PSR_MODE32_BIT 0x10 /* arch/arm64/include/uapi/asm/ptrace.h */
#define TIF_32BIT      22   /* arch/arm64/include/asm/thread_info.h */

/* Arguments of a system call, from 0 on, also at its return: x0 has the result by then. */
#define REGS_ARG_0(regs) ((regs)->orig_x0)
#define REGS_ARG_1(regs) ((regs)->regs[1])
#define REGS_ARG_2(regs) ((regs)->regs[2])
#define REGS_ARG_3(regs) ((regs)->regs[3])
#define REGS_ARG_4(regs) ((regs)->regs[4])

#define REGS_COMPAT_ARG_0(regs) REGS_ARG_0(regs)
#define REGS_COMPAT_ARG_1(regs) REGS_ARG_1(regs)
#define REGS_COMPAT_ARG_3(regs) REGS_ARG_3(regs)

#define REGS_NR(regs) ((__u64)(__s64)(regs)->syscallno) /* number of the system call; -1: none */
/* Arguments of a function, and its result. */
#define REGS_CALL_0(r) ((r)->regs[0])
#define REGS_CALL_1(r) ((r)->regs[1])
#define REGS_CALL_2(r) ((r)->regs[2])
#define REGS_RESULT(r) ((r)->regs[0])

#define REGS_PC(regs) ((regs)->pc)
#define REGS_G(regs)  ((regs)->regs[28]) /* Go's g, in Go code (ABIInternal) */

#define ARCH_SYSCALL_FUNCTION(name) __arm64_sys_##name

/* A call leaves the return address in the link register. */
#define ARCH_CALL_PUSH	   0
#define ARCH_LINK_REGISTER 1

static __always_inline __u64 regs__return_address(const struct pt_regs *regs)
{
	return regs->regs[30];
}

static __always_inline bool regs__are_compat(const struct pt_regs *regs)
{
	return regs->pstate & PSR_MODE32_BIT;
}

/* arch/arm64/include/asm/ptrace.h, compat_sp */
static __always_inline __u64 regs__sp(const struct pt_regs *regs)
{
	return regs__are_compat(regs) ? regs->regs[13] : regs->sp;
}

static __always_inline void regs__copy(__u64 *r, const struct pt_regs *regs)
{
#pragma unroll
	for (int i = 0; i < 31; i++)
		r[i] = regs->regs[i];
	r[31] = regs__sp(regs);
	r[32] = regs->pc;
}

static __always_inline bool task__in_compat_call(const struct task_struct *task)
{
	return task->thread_info.flags >> TIF_32BIT & 1;
}

/* Saved when a thread leaves the CPU and set when it is cloned. For a first thread it is not known
 * before it leaves the CPU, because its C library sets it. */
static __always_inline __u64 task__thread_pointer(const struct task_struct *task)
{
	return task->thread.uw.tp_value;
}

/*
 * The thread descriptors of glibc and musl lie on top of the thread's stack and end at the thread
 * pointer (ELF TLS, variant I). The thread's dtv is there in glibc, a pointer into its heap. Go
 * sets no thread pointer of its own.
 */
static __always_inline bool is_thread_descriptor_of(__u64 tp, __u64 first_word)
{
	return tp % 16 == 0 && first_word && first_word % sizeof(__u64) == 0;
}

/* Outside Go code, g is a TLS variable. Only the program knows its place. */
#define ARCH_G_BELOW_TP 0

/* Lies in the program's data if the first thread is in Go code. In C programs it may lie there by
 * chance. */
#define ARCH_GO_MARK(tp, g) (g)

/* Size of struct rt_sigframe without extra context (SVE vectors over 64 bytes, SME), and the offset
 * of struct capture_signal in it. */
#define SIGFRAME_SZ	4688
#define SIGFRAME_SIGNAL 144
#define FRAME_RECORD_SZ 16

/* The frame of the first signal is at the stack's top, below a frame record
 * (arch/arm64/kernel/signal.c, get_sigframe()). */
static __always_inline __u64 signal_frame__at(__u64 stack_end, __u64 fpu_sz)
{
	(void)fpu_sz;
	return ((stack_end - FRAME_RECORD_SZ) & ~15ULL) - SIGFRAME_SZ;
}

static __always_inline __u32 task__interrupt_count(const struct task_struct *task)
{
	return task->thread_info.preempt.count;
}

/* arch/arm/tools/syscall.tbl */
#define NR_32_ACCEPT  285
#define NR_32_ACCEPT4 366

static __always_inline bool compat__is_accept(const struct pt_regs *regs, __u64 nr)
{
	(void)regs;
	return nr == NR_32_ACCEPT || nr == NR_32_ACCEPT4;
}

static __always_inline __u32 compat__accept_fd(const struct pt_regs *regs)
{
	return REGS_ARG_0(regs);
}

/*
 * X(name, number, number in 32-bit programs, argument with the file to read from, argument with the
 * file to write to); 0 is none. include/uapi/asm-generic/unistd.h, arch/arm/tools/syscall.tbl.
 */
#define VFS_SYSCALLS(X)                    \
	X(read, 63, 3, 1, 0)               \
	X(pread64, 67, 180, 1, 0)          \
	X(readv, 65, 145, 1, 0)            \
	X(preadv, 69, 361, 1, 0)           \
	X(preadv2, 286, 392, 1, 0)         \
	X(write, 64, 4, 0, 1)              \
	X(pwrite64, 68, 181, 0, 1)         \
	X(writev, 66, 146, 0, 1)           \
	X(pwritev, 70, 362, 0, 1)          \
	X(pwritev2, 287, 393, 0, 1)        \
	X(sendfile, 71, 187, 2, 1)         \
	X(sendfile64, UNUSED, 239, 2, 1)   \
	X(copy_file_range, 285, 391, 1, 3) \
	X(splice, 76, 340, 1, 3)           \
	X(tee, 77, 342, 0, 2)              \
	X(vmsplice, 75, UNUSED, 1, 1) /* as at the functions */

/*
 * X(name, number, kind, argument that is a path, that is a descriptor): of programs, and of those
 * of 32 bits. Arguments count from 1, 0 is none. The descriptor is what counts where the path is
 * empty. Of two paths it is the new one.
 */
#define PATH_SYSCALLS(X)                              \
	X(openat, 56, OPEN, 2, 0)                     \
	X(openat2, 437, OPEN, 2, 0)                   \
	X(fsync, 82, FSYNC, 0, 1)                     \
	X(fdatasync, 83, FDATASYNC, 0, 1)             \
	X(sync_file_range, 84, SYNC_FILE_RANGE, 0, 1) \
	X(renameat, 38, RENAME, 4, 0)                 \
	X(renameat2, 276, RENAME, 4, 0)               \
	X(unlinkat, 35, UNLINK, 2, 0)                 \
	X(fstat, 80, STAT, 0, 1)                      \
	X(newfstatat, 79, STAT, 2, 1)                 \
	X(statx, 291, STAT, 2, 1)
#define PATH_SYSCALLS_32(X)                             \
	X(open, 5, OPEN, 1, 0)                          \
	X(creat, 8, OPEN, 1, 0)                         \
	X(openat, 322, OPEN, 2, 0)                      \
	X(openat2, 437, OPEN, 2, 0)                     \
	X(fsync, 118, FSYNC, 0, 1)                      \
	X(fdatasync, 148, FDATASYNC, 0, 1)              \
	X(sync_file_range2, 341, SYNC_FILE_RANGE, 0, 1) \
	X(rename, 38, RENAME, 2, 0)                     \
	X(renameat, 329, RENAME, 4, 0)                  \
	X(renameat2, 382, RENAME, 4, 0)                 \
	X(unlink, 10, UNLINK, 1, 0)                     \
	X(unlinkat, 328, UNLINK, 2, 0)                  \
	X(stat64, 195, STAT, 1, 0)                      \
	X(lstat64, 196, STAT, 1, 0)                     \
	X(fstat, 197, STAT, 0, 1)                       \
	X(newfstatat, 327, STAT, 2, 1)                  \
	X(statx, 397, STAT, 2, 1)
#define SYSCALL_CNT 438
#define UNUSED	    395 /* neither has one with that number */

#endif
