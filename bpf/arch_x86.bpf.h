/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64; see arch.bpf.h. */
#ifndef ARCH_X86_BPF_H
#define ARCH_X86_BPF_H

#include "vmlinux.h"
#include <asm/unistd_64.h>

#include "bpf/event.h"

#define ARCH_PAGE 4096

#define USER32_CS 0x23	 /* arch/x86/include/asm/segment.h: ring 3, 32-bit code */
#define TS_COMPAT 0x0002 /* arch/x86/include/asm/thread_info.h: in a 32-bit system call */

/* Arguments of a system call, from 0 on, also at its return. */
#define REGS_ARG_0(regs) ((regs)->di)
#define REGS_ARG_1(regs) ((regs)->si)
#define REGS_ARG_2(regs) ((regs)->dx)
#define REGS_ARG_3(regs) ((regs)->r10)
#define REGS_ARG_4(regs) ((regs)->r8)

/* Arguments of a 32-bit system call. The third one is in the same register. */
#define REGS_COMPAT_ARG_0(regs) ((regs)->bx)
#define REGS_COMPAT_ARG_1(regs) ((regs)->cx)
#define REGS_COMPAT_ARG_3(regs) ((regs)->si)

#define REGS_NR(regs) ((regs)->orig_ax) /* number of the system call */
/* Arguments of a function, and its result. */
#define REGS_CALL_0(regs) ((regs)->di)
#define REGS_CALL_1(regs) ((regs)->si)
#define REGS_CALL_2(regs) ((regs)->dx)
#define REGS_RESULT(regs) ((regs)->ax)

#define REGS_PC(regs) ((regs)->ip)
#define REGS_G(regs)  ((regs)->r14) /* Go's g, in Go code (ABIInternal) */

#define ARCH_SYSCALL_FUNCTION(name) __x64_sys_##name

/* A call pushes the return address. */
#define ARCH_CALL_PUSH	   8
#define ARCH_LINK_REGISTER 0

/* Returns where a function will return to, at its first instruction; 0 if it cannot be read. */
static __always_inline __u64 regs__return_address(const struct pt_regs *regs)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (const void *)regs->sp);
	return address;
}

static __always_inline __u64 regs__sp(const struct pt_regs *regs)
{
	return regs->sp;
}

static __always_inline void regs__copy(__u64 *r, const struct pt_regs *regs)
{
	r[0] = regs->ax;
	r[1] = regs->dx;
	r[2] = regs->cx;
	r[3] = regs->bx;
	r[4] = regs->si;
	r[5] = regs->di;
	r[6] = regs->bp;
	r[7] = regs->sp;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	r[16] = regs->ip;
}

static __always_inline bool regs__are_compat(const struct pt_regs *regs)
{
	return (__u16)regs->cs == USER32_CS;
}

static __always_inline bool task__in_compat_call(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __always_inline __u64 task__thread_pointer(const struct task_struct *task)
{
	return task->thread.fsbase;
}

/*
 * The thread descriptors of glibc and musl lie on top of the thread's stack and begin with their
 * own address (x86-64 ELF TLS, variant II). In Go, fs points into the heap instead.
 */
static __always_inline bool is_thread_descriptor_of(__u64 tp, __u64 first_word)
{
	return first_word == tp;
}

#define ARCH_G_BELOW_TP 1 /* outside Go code, g is in the word below the thread pointer */

/* Lies in the program's data if the first thread belongs to Go. In C programs it never does. */
#define ARCH_GO_MARK(tp, g) (tp)

/* Size of struct rt_sigframe, and the offset of struct capture_signal in it. */
#define SIGFRAME_SZ	440
#define SIGFRAME_SIGNAL 24

/* The frame of the first signal is at the stack's top, below the state of the FPU
 * (arch/x86/kernel/signal.c, get_sigframe()). */
static __always_inline __u64 signal_frame__at(__u64 stack_end, __u64 fpu_sz)
{
	__u64 fpu = (stack_end - fpu_sz) & ~63ULL;

	return ((fpu - SIGFRAME_SZ) & ~15ULL) - 8;
}

static __always_inline __u32 task__interrupt_count(const struct task_struct *task)
{
	(void)task; /* not on x86-64: ARCH_TASK_COUNTS_INTERRUPTS */
	return 0;
}

/* arch/x86/entry/syscalls/syscall_32.tbl, include/uapi/linux/net.h */
#define NR_32_SOCKETCALL 102
#define NR_32_ACCEPT4	 364
#define SYS_ACCEPT	 5
#define SYS_ACCEPT4	 18

static __always_inline bool compat__is_accept(const struct pt_regs *regs, __u64 nr)
{
	return nr == NR_32_ACCEPT4 ||
	       (nr == NR_32_SOCKETCALL && (regs->bx == SYS_ACCEPT || regs->bx == SYS_ACCEPT4));
}

static __always_inline __u32 compat__accept_fd(const struct pt_regs *regs)
{
	__u32 fd = ~0u;

	if (regs->orig_ax == NR_32_ACCEPT4)
		return regs->bx;
	bpf_probe_read_user(&fd, sizeof(fd), (const void *)regs->cx);
	return fd;
}

/*
 * X(name, number, number in 32-bit programs, argument with the file to read from, argument with the
 * file to write to); 0 is none. arch/x86/entry/syscalls/syscall_64.tbl, syscall_32.tbl.
 */
#define VFS_SYSCALLS(X)                    \
	X(read, 0, 3, 1, 0)                \
	X(pread64, 17, 180, 1, 0)          \
	X(readv, 19, 145, 1, 0)            \
	X(preadv, 295, 333, 1, 0)          \
	X(preadv2, 327, 378, 1, 0)         \
	X(write, 1, 4, 0, 1)               \
	X(pwrite64, 18, 181, 0, 1)         \
	X(writev, 20, 146, 0, 1)           \
	X(pwritev, 296, 334, 0, 1)         \
	X(pwritev2, 328, 379, 0, 1)        \
	X(sendfile, 40, 187, 2, 1)         \
	X(sendfile64, UNUSED, 239, 2, 1)   \
	X(copy_file_range, 326, 377, 1, 3) \
	X(splice, 275, 313, 1, 3)          \
	X(tee, 276, 315, 0, 2)             \
	X(vmsplice, 278, UNUSED, 1, 1) /* as at the functions */

/*
 * X(name, number, kind, argument that is a path, that is a descriptor): of programs, and of those
 * of 32 bits. Arguments count from 1, 0 is none. The descriptor is what counts where the path is
 * empty. Of two paths it is the new one.
 */
#define PATH_SYSCALLS(X)                               \
	X(open, 2, OPEN, 1, 0)                         \
	X(creat, 85, OPEN, 1, 0)                       \
	X(openat, 257, OPEN, 2, 0)                     \
	X(openat2, 437, OPEN, 2, 0)                    \
	X(fsync, 74, FSYNC, 0, 1)                      \
	X(fdatasync, 75, FDATASYNC, 0, 1)              \
	X(sync_file_range, 277, SYNC_FILE_RANGE, 0, 1) \
	X(rename, 82, RENAME, 2, 0)                    \
	X(renameat, 264, RENAME, 4, 0)                 \
	X(renameat2, 316, RENAME, 4, 0)                \
	X(unlink, 87, UNLINK, 1, 0)                    \
	X(unlinkat, 263, UNLINK, 2, 0)                 \
	X(stat, 4, STAT, 1, 0)                         \
	X(lstat, 6, STAT, 1, 0)                        \
	X(fstat, 5, STAT, 0, 1)                        \
	X(newfstatat, 262, STAT, 2, 1)                 \
	X(statx, 332, STAT, 2, 1)
#define PATH_SYSCALLS_32(X)                            \
	X(open, 5, OPEN, 1, 0)                         \
	X(creat, 8, OPEN, 1, 0)                        \
	X(openat, 295, OPEN, 2, 0)                     \
	X(openat2, 437, OPEN, 2, 0)                    \
	X(fsync, 118, FSYNC, 0, 1)                     \
	X(fdatasync, 148, FDATASYNC, 0, 1)             \
	X(sync_file_range, 314, SYNC_FILE_RANGE, 0, 1) \
	X(rename, 38, RENAME, 2, 0)                    \
	X(renameat, 302, RENAME, 4, 0)                 \
	X(renameat2, 353, RENAME, 4, 0)                \
	X(unlink, 10, UNLINK, 1, 0)                    \
	X(unlinkat, 301, UNLINK, 2, 0)                 \
	X(stat, 106, STAT, 1, 0)                       \
	X(stat64, 195, STAT, 1, 0)                     \
	X(lstat, 107, STAT, 1, 0)                      \
	X(lstat64, 196, STAT, 1, 0)                    \
	X(fstat, 108, STAT, 0, 1)                      \
	X(fstat64, 197, STAT, 0, 1)                    \
	X(newfstatat, 300, STAT, 2, 1)                 \
	X(statx, 383, STAT, 2, 1)
#define SYSCALL_CNT 438
#define UNUSED	    391 /* neither has one with that number, nor will */

#endif
