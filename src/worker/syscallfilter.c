// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/syscallfilter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "worker/memfile.h"
#include "worker/sanitized.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#define OTHER_ABI 0x40000000 /* the first number of x32, which has the same architecture */

/* Calls that are always allowed. The most frequent ones come first. */
static const uint32_t allowed_calls[] = {
	SYS_pread64,	  SYS_munmap,	       SYS_madvise,	 SYS_close,	  SYS_fstat,
	SYS_recvmsg,	  SYS_sendmsg,	       SYS_read,	 SYS_write,	  SYS_brk,
	SYS_mremap,	  SYS_futex,	       SYS_fstatfs,	 SYS_lseek,	  SYS_clock_gettime,
	SYS_getrandom,	  SYS_restart_syscall, SYS_rt_sigreturn, SYS_exit,	  SYS_exit_group,
#ifdef SANITIZED
	SYS_gettid,	  SYS_getpid,	       SYS_tgkill,	 SYS_sched_yield, SYS_sigaltstack,
	SYS_rt_sigaction, SYS_rt_sigprocmask,  SYS_openat,
#endif
};

/* Calls that are allowed if an argument has none of the forbidden bits (.equals: false), or has
 * that value. */
static const struct argument_rule {
	uint32_t call;
	uint32_t index;
	uint32_t value;
	bool equals;
} argument_rules[] = {
	{ SYS_mmap, 2, PROT_EXEC, false },
	{ SYS_mprotect, 2, PROT_EXEC, false },
	/* fstat() in newer C libraries */
	{ SYS_newfstatat, 3, AT_EMPTY_PATH, true },
	/* no huge pages: they could be used up when the other side reads them */
	{ SYS_memfd_create, 1, ~(uint32_t)MEMFILE_FLAGS, false },
	{ SYS_fcntl, 1, F_ADD_SEALS, true },
	{ SYS_fcntl, 1, F_GETFD, true },
	{ SYS_fcntl, 1, F_GETFL, true },
};

#define COUNT(a)	(sizeof(a) / sizeof(*(a)))
#define PER_CALL	2
#define PER_RULE	5
#define PROGRAM_MAX	(8 + PER_CALL * COUNT(allowed_calls) + PER_RULE * COUNT(argument_rules))
#define NUMBER_OFF	offsetof(struct seccomp_data, nr)
#define ARGUMENT_OFF(n) (offsetof(struct seccomp_data, args) + 8 * (n)) /* little-endian */

struct filter_program {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short cnt;
};

static void filter_load(struct filter_program *p, size_t off)
{
	p->code[p->cnt++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)off);
}

static void filter_return(struct filter_program *p, uint32_t action)
{
	p->code[p->cnt++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* Skips `yes` instructions if the comparison holds, else `no`. */
static void filter_jump(struct filter_program *p, uint16_t how, uint32_t value, uint8_t yes,
			uint8_t no)
{
	p->code[p->cnt++] =
		(struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | how | BPF_K), value, yes, no);
}

static void filter_allow_call(struct filter_program *p, uint32_t call)
{
	filter_jump(p, BPF_JEQ, call, 0, 1);
	filter_return(p, SECCOMP_RET_ALLOW);
}

static void filter_allow_argument(struct filter_program *p, const struct argument_rule *r)
{
	filter_load(p, NUMBER_OFF);
	filter_jump(p, BPF_JEQ, r->call, 0, 3);
	filter_load(p, ARGUMENT_OFF(r->index));
	if (r->equals)
		filter_jump(p, BPF_JEQ, r->value, 0, 1);
	else
		filter_jump(p, BPF_JSET, r->value, 1, 0);
	filter_return(p, SECCOMP_RET_ALLOW);
}

static void filter_make(struct filter_program *p)
{
	filter_load(p, offsetof(struct seccomp_data, arch));
	filter_jump(p, BPF_JEQ, THIS_ARCH, 1, 0);
	filter_return(p, SECCOMP_RET_KILL_PROCESS);
	filter_load(p, NUMBER_OFF);
	filter_jump(p, BPF_JGE, OTHER_ABI, 0, 1);
	filter_return(p, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < COUNT(allowed_calls); i++)
		filter_allow_call(p, allowed_calls[i]);
	for (size_t i = 0; i < COUNT(argument_rules); i++)
		filter_allow_argument(p, &argument_rules[i]);
	filter_return(p, SECCOMP_RET_ERRNO | EPERM);
}

int syscall_filter__limit(void)
{
	struct filter_program p = { .cnt = 0 };
	struct sock_fprog program;

	filter_make(&p);
	program = (struct sock_fprog){ .len = p.cnt, .filter = p.code };
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? -errno : 0;
}
