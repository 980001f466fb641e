// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vfs: calls that move bytes from or to a file, with the number of bytes and the path.
 *
 * When a call begins, it is noted with the names of its files, because another thread may close
 * them before it ends. A read has one side, sendfile has two, and each side is a row. Sockets
 * belong to the probe net.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filepath.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"

/* These are macros in the kernel, so BTF does not have them. */
#define S_IFMT		00170000 /* include/uapi/linux/stat.h */
#define S_IFSOCK	0140000
#define FMODE_WRITE	0x2 /* include/linux/fs.h */
#define FMODE_NOACCOUNT 0x20000000
#define SA_RESTART                                                                               \
	0x10000000 /* include/uapi/asm-generic/signal-defs.h, arch/x86/include/uapi/asm/signal.h \
		    */
#define SIG_IGN 1  /* include/uapi/asm-generic/signal-defs.h */
#define EINTR	4

/* include/linux/errno.h: a signal arrived; the call restarts, or ends with EINTR */
#define ERESTARTSYS	      512 /* EINTR if a handler without SA_RESTART has run */
#define ERESTARTNOINTR	      513 /* always restarts */
#define ERESTARTNOHAND	      514 /* EINTR if a handler has run */
#define ERESTART_RESTARTBLOCK 516 /* like ERESTARTNOHAND */

enum call_state {
	CALL_NONE,
	CALL_OPEN,
	CALL_INTERRUPTED, /* by a signal that has not been delivered yet */
	CALL_RESTARTS,	  /* after the signal's handler has run */
};

/* The detail of a row, as it is sent: one of the two structs, which have the same layout. */
struct side {
	__u64 sz;     /* 0: this side is not recorded */
	__u64 detail; /* EVENT_DETAIL_PATH, or EVENT_DETAIL_FILE if the path is not known */
	union {
		struct event_file file;
		struct event_path path;
	};
};

/* The current call of a thread, or its last one. */
struct call {
	__u64 state;	/* enum call_state */
	__u64 what;	/* equal at the begin and the end of a call */
	__u64 start_ns; /* time of the first attempt */
	__u64 ip, sp;	/* user registers: a restarted call comes from the same place */
	__u64 error;	/* if interrupted */
	struct side in, out;
};

TASK_STATE(vfs, call, struct call, 2048) /* 1.4 MB */

SEC("?tp_btf/sched_process_free")
int BPF_PROG(vfs__any__free, struct task_struct *task)
{
	call__forget(task);
	return 0;
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* Returns NULL if the descriptor is not open. */
static __always_inline struct file *file_of(__u32 fd)
{
	const struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), &table->fd[fd]);
	return file;
}

/* vmsplice() moves data to or from a pipe, depending on the pipe's end. */
static __always_inline struct file *pipe_end(__u32 fd, bool writes)
{
	struct file *file = file_of(fd);
	bool is_writable = file && BPF_CORE_READ(file, f_mode) & FMODE_WRITE;

	return is_writable == writes ? file : NULL;
}

/* Returns false for sockets, and for files that a file system has opened for itself. For example,
 * overlayfs opens the file below: the call on its own file already has a row. */
static __always_inline bool is_ours(const struct file *file)
{
	if (!file || BPF_CORE_READ(file, f_mode) & FMODE_NOACCOUNT)
		return false;
	return (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK;
}

static __always_inline void side__set(struct side *s, const struct file *file)
{
	long sz;

	s->detail = EVENT_DETAIL_PATH;
	s->sz = file_path__read(&s->path, file);
	if (s->sz)
		return;
	s->detail = EVENT_DETAIL_FILE;
	bpf_probe_read_kernel_str(s->file.fs, sizeof(s->file.fs),
				  BPF_CORE_READ(file, f_inode, i_sb, s_type, name));
	sz = bpf_probe_read_kernel_str(s->file.name, sizeof(s->file.name),
				       BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (sz < 0)
		sz = 0;
	s->sz = (sizeof(s->file.fs) + sz + 7) & ~7UL;
}

/* ---- calls --------------------------------------------------------------------------------------
 */

static __always_inline bool is_again(const struct call *c, __u64 what, const struct pt_regs *regs)
{
	return c->state >= CALL_INTERRUPTED && c->what == what && c->ip == REGS_PC(regs) &&
	       c->sp == regs__sp(regs);
}

static __always_inline bool is_wanted(__u64 now_ns)
{
	return capturing(now_ns) && recorded(bpf_get_current_task_btf());
}

/* Starts a call that reads from `in` and writes to `out` (NULL: no such side). Inlined, because the
 * types of a function are looked up at each start of the collector, which takes 1 ms. Those of a
 * program are looked up only if it is loaded. */
static __always_inline int call__enter(__u64 now_ns, __u64 what, const struct file *in,
				       const struct file *out)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(task);
	bool reads = is_ours(in), writes = is_ours(out);
	struct call *c;

	if (!(reads | writes))
		return 0;
	c = call__create(task);
	if (!c) {
		lose(reads ? EVENT_VFS_READ : EVENT_VFS_WRITE, EVENT_LOST_NO_MEMORY);
		return 0;
	}
	if (!is_again(c, what, regs))
		c->start_ns = now_ns;
	c->state = CALL_OPEN;
	c->what = what;
	c->ip = REGS_PC(regs);
	c->sp = regs__sp(regs);
	c->in.sz = c->out.sz = 0;
	if (reads)
		side__set(&c->in, in);
	if (writes)
		side__set(&c->out, out);
	return 0;
}

static __always_inline void side__emit(void *ctx, struct emission *row, const struct side *s,
				       __u32 kind)
{
	row->kind = kind;
	row->detail = s->detail;
	row->detail_data = &s->file;
	row->detail_sz = s->sz;
	if (s->sz)
		emit(ctx, bpf_get_current_task_btf(), row, cfg.how[EVENT_VFS_READ]);
}

/* `result`: bytes, or -errno. */
static __noinline int call__emit(void *ctx, struct call *c, __u64 now_ns, long result)
{
	struct emission row = { .time_ns = now_ns,
				.duration_ns = now_ns - c->start_ns,
				.amount = result < 0 ? 0 : result,
				.reason = result < 0 ? -result : 0,
				.cpu = bpf_get_smp_processor_id(),
				.runnable_ns = ~0ULL };

	c->state = CALL_NONE;
	side__emit(ctx, &row, &c->in, EVENT_VFS_READ);
	side__emit(ctx, &row, &c->out, EVENT_VFS_WRITE);
	return 0;
}

static __always_inline bool is_interrupted(long result)
{
	return (result <= -ERESTARTSYS && result >= -ERESTARTNOHAND) ||
	       result == -ERESTART_RESTARTBLOCK;
}

static __always_inline int call__exit(void *ctx, __u64 what, long result)
{
	struct call *c = call__find(bpf_get_current_task_btf());
	__u64 now_ns = bpf_ktime_get_ns();

	if (!c || c->state != CALL_OPEN || c->what != what || !capturing(now_ns))
		return 0;
	if (!is_interrupted(result))
		return call__emit(ctx, c, now_ns, result);
	c->state = CALL_INTERRUPTED;
	c->error = -result;
	return 0;
}

/*
 * A signal is about to be delivered. Only a handler decides how the call continues, and only the
 * first handler (arch/x86/kernel/signal.c, handle_signal()). Without a handler the call restarts.
 */
static __always_inline int call__signal(void *ctx, const struct k_sigaction *action)
{
	struct call *c = call__find(bpf_get_current_task_btf());
	__u64 now_ns = bpf_ktime_get_ns();

	if (!c || c->state != CALL_INTERRUPTED || (__u64)action->sa.sa_handler <= SIG_IGN)
		return 0;
	c->state = CALL_RESTARTS;
	if (c->error == ERESTARTNOINTR ||
	    (c->error == ERESTARTSYS && action->sa.sa_flags & SA_RESTART) || !capturing(now_ns))
		return 0;
	return call__emit(ctx, c, now_ns, -EINTR);
}

/* ---- at the kernel's functions --------------------------------------------------------------- */

/*
 * X(hook, function, its number of arguments, side to read from, side to write to): the functions in
 * which all system calls of a kind end, including those of 32-bit programs (except their
 * vmsplice()).
 */
#define NOTHING	     NULL
#define FILE(n)	     ((const struct file *)args[n])
#define FD(n)	     file_of(args[n])
#define VMSPLICE(to) pipe_end(REGS_ARG_0((const struct pt_regs *)args[0]), to)
#define FUNCTIONS(X)                                                                 \
	X(read, vfs_read, 4, FILE(0), NOTHING)                                       \
	X(readv, vfs_readv, 5, FILE(0), NOTHING)                                     \
	X(write, vfs_write, 4, NOTHING, FILE(0))                                     \
	X(writev, vfs_writev, 5, NOTHING, FILE(0))                                   \
	X(sendfile, do_sendfile, 5, FD(1), FD(0))                                    \
	X(copy, vfs_copy_file_range, 6, FILE(0), FILE(2))                            \
	X(splice, do_splice, 6, FILE(0), FILE(2))                                    \
	X(tee, do_tee, 4, NOTHING, FILE(1)) /* the data that it reads stays there */ \
	X(vmsplice, ARCH_SYSCALL_FUNCTION(vmsplice), 1, VMSPLICE(false), VMSPLICE(true))

#define X(...) HOOK(__VA_ARGS__) /* expands the name of the function */
#define HOOK(hook, function, arg_cnt, in, out)                           \
	SEC("?fentry/" #function)                                        \
	int vfs__fentry__##hook(const __u64 *args)                       \
	{                                                                \
		__u64 now_ns = bpf_ktime_get_ns();                       \
                                                                         \
		if (!is_wanted(now_ns))                                  \
			return 0;                                        \
		return call__enter(now_ns, args[0], in, out);            \
	}                                                                \
	SEC("?fexit/" #function)                                         \
	int vfs__fentry__##hook##_end(const __u64 *args)                 \
	{                                                                \
		return call__exit((void *)args, args[0], args[arg_cnt]); \
	}
FUNCTIONS(X)
#undef X
#undef HOOK

SEC("?tp_btf/signal_deliver")
int BPF_PROG(vfs__fentry__signal, int sig, void *info, struct k_sigaction *action)
{
	return call__signal(ctx, action);
}

/* ---- at the system calls ------------------------------------------------------------------------
 */

struct moves {
	__u8 in, out;
};

static const volatile struct {
	struct moves native, compat;
} syscalls[SYSCALL_CNT] = {
#define X(name, number, number_32, from, to) \
	[number].native = { from, to }, [number_32].compat = { from, to },
	VFS_SYSCALLS(X)
#undef X
};

static __always_inline bool is_compat(void)
{
	return task__in_compat_call(bpf_get_current_task_btf());
}

/* Returns no sides for nearly all system calls: the two programs below see every system call of the
 * machine. */
static __always_inline struct moves moves_of(__u64 nr)
{
	struct moves native, compat;

	OPAQUE(nr); /* otherwise a copy is compared, and the verifier of 6.1 does not bound `nr` */
	if (nr >= SYSCALL_CNT)
		return (struct moves){ 0 };
	native = syscalls[nr].native;
	compat = syscalls[nr].compat;
	if (!(native.in | native.out | compat.in | compat.out))
		return native;
	return is_compat() ? compat : native;
}

static __always_inline __u32 arg(const struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 1: return is_compat() ? REGS_COMPAT_ARG_0(regs) : REGS_ARG_0(regs);
	case 2: return is_compat() ? REGS_COMPAT_ARG_1(regs) : REGS_ARG_1(regs);
	default: return REGS_ARG_2(regs);
	}
}

SEC("?tp_btf/sys_enter")
int BPF_PROG(vfs__syscalls__enter, struct pt_regs *regs, __u64 nr)
{
	struct moves m = moves_of(nr);
	__u64 now_ns;

	if (!(m.in | m.out))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!is_wanted(now_ns))
		return 0;
	if (m.in == m.out) /* vmsplice() */
		return call__enter(now_ns, nr, pipe_end(arg(regs, m.in), false),
				   pipe_end(arg(regs, m.in), true));
	return call__enter(now_ns, nr, m.in ? file_of(arg(regs, m.in)) : NULL,
			   m.out ? file_of(arg(regs, m.out)) : NULL);
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(vfs__syscalls__exit, struct pt_regs *regs, long result)
{
	struct moves m = moves_of(REGS_NR(regs));

	return m.in | m.out ? call__exit(ctx, REGS_NR(regs), result) : 0;
}

SEC("?tp_btf/signal_deliver")
int BPF_PROG(vfs__syscalls__signal, int sig, void *info, struct k_sigaction *action)
{
	return call__signal(ctx, action);
}
