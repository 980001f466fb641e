// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vfs: calls that open, sync, rename, remove or look at a file, with the path that the program
 * gave, or else that of the open file. At the system calls, also where functions can be hooked:
 * their functions are many.
 *
 * The path is read when the call ends. By then the kernel has read it, so it is in memory. Another
 * thread of the program may have changed it meanwhile.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filepath.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/taskstate.bpf.h"

#define ERESTARTSYS 512 /* include/linux/errno.h: from here on a signal came */
#define EINTR	    4

/* The call that a thread is in. */
struct path_call {
	__u64 start_ns; /* 0: none */
	__u64 nr;
	struct event_path path; /* scratch while it ends */
};

TASK_STATE(vfspath, path_call, struct path_call, 2048) /* 600 KB */

SEC("?tp_btf/sched_process_free")
int BPF_PROG(vfs__any__path_free, struct task_struct *task)
{
	path_call__forget(task);
	return 0;
}

/* ---- which calls --------------------------------------------------------------------------------
 */

struct path_syscall {
	__u8 kind;     /* enum event_kind; 0: none of ours */
	__u8 path, fd; /* arguments, from 1 on; 0: none */
};

#define X(name, number, what, path, fd) [number] = { EVENT_VFS_##what, path, fd },
static const volatile struct path_syscall path_syscalls[SYSCALL_CNT] = { PATH_SYSCALLS(X) };
static const volatile struct path_syscall path_syscalls_32[SYSCALL_CNT] = { PATH_SYSCALLS_32(X) };
#undef X

static __always_inline bool is_compat(void)
{
	return task__in_compat_call(bpf_get_current_task_btf());
}

/* Kind 0 for nearly all: the two programs below see every system call of the machine. */
static __always_inline struct path_syscall path_syscall__of(__u64 nr)
{
	struct path_syscall native, compat;

	OPAQUE(nr); /* see moves_of() */
	if (nr >= SYSCALL_CNT)
		return (struct path_syscall){ 0 };
	native = path_syscalls[nr];
	compat = path_syscalls_32[nr];
	if (!(native.kind | compat.kind))
		return native;
	return is_compat() ? compat : native;
}

static __always_inline __u64 path_arg(const struct pt_regs *regs, __u32 n)
{
	if (is_compat()) {
		switch (n) {
		case 1: return (__u32)REGS_COMPAT_ARG_0(regs);
		case 2: return (__u32)REGS_COMPAT_ARG_1(regs);
		default: return (__u32)REGS_COMPAT_ARG_3(regs);
		}
	}
	switch (n) {
	case 1: return REGS_ARG_0(regs);
	case 2: return REGS_ARG_1(regs);
	default: return REGS_ARG_3(regs);
	}
}

/* ---- names --------------------------------------------------------------------------------------
 */

static __always_inline const struct file *path_file(__u32 fd)
{
	const struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), &table->fd[fd]);
	return file;
}

static __always_inline void path__read_fs(struct event_path *p, const struct file *file)
{
	if (file)
		bpf_probe_read_kernel_str(p->fs, sizeof(p->fs),
					  BPF_CORE_READ(file, f_inode, i_sb, s_type, name));
}

/* Bytes with the NUL; 1: there is none. */
static __always_inline long path__read(struct event_path *p, const struct pt_regs *regs,
				       const struct path_syscall *call)
{
	long sz = 1;

	p->path[0] = 0;
	if (call->path)
		sz = bpf_probe_read_user_str(p->path, sizeof(p->path),
					     (const void *)path_arg(regs, call->path));
	return sz < 1 ? 1 : sz;
}

/* Reads path, or else name, and file system of an open file, like side__set() in vfs.bpf.c. Returns
 * the bytes to send. */
static __always_inline long path__read_file(struct event_path *p, const struct file *file,
					    struct emission *row)
{
	long sz = file ? file_path__read(p, file) : 0;

	if (sz)
		return sz;
	row->detail = EVENT_DETAIL_FILE;
	path__read_fs(p, file);
	p->path[0] = 0;
	if (file)
		sz = bpf_probe_read_kernel_str(p->path, sizeof(p->path),
					       BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return (sizeof(p->fs) + (sz < 1 ? 1 : sz) + 7) & ~7UL;
}

/* ---- calls --------------------------------------------------------------------------------------
 */

SEC("?tp_btf/sys_enter")
int BPF_PROG(vfs__any__path_enter, struct pt_regs *regs, __u64 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_syscall call = path_syscall__of(nr);
	struct path_call *c;
	__u64 now_ns;

	if (!call.kind)
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!capturing(now_ns) || !recorded(task))
		return 0;
	c = path_call__create(task);
	if (!c) {
		lose(call.kind, EVENT_LOST_NO_MEMORY);
		return 0;
	}
	c->start_ns = now_ns;
	c->nr = nr;
	return 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(vfs__any__path_exit, struct pt_regs *regs, long result)
{
	struct path_syscall call = path_syscall__of(REGS_NR(regs));
	struct emission row = { .cpu = bpf_get_smp_processor_id(),
				.kind = call.kind,
				.reason = result < 0 ? -result : 0,
				.runnable_ns = ~0ULL };
	struct path_call *c;
	long sz;

	if (!call.kind)
		return 0;
	c = path_call__find(bpf_get_current_task_btf());
	row.time_ns = bpf_ktime_get_ns();
	if (!c || !c->start_ns || c->nr != REGS_NR(regs) || !capturing(row.time_ns))
		return 0;
	row.duration_ns = row.time_ns - c->start_ns;
	c->start_ns = 0;
	if (result <= -ERESTARTSYS)
		row.reason = EINTR;
	__builtin_memset(c->path.fs, 0, sizeof(c->path.fs));
	row.detail = EVENT_DETAIL_PATH;
	sz = path__read(&c->path, regs, &call);
	if (call.kind == EVENT_VFS_OPEN && result >= 0)
		path__read_fs(&c->path, path_file(result));
	row.detail_data = &c->path;
	row.detail_sz = (sizeof(c->path.fs) + sz + 7) & ~7UL;
	if (sz == 1 && call.fd)
		row.detail_sz = path__read_file(&c->path, path_file(path_arg(regs, call.fd)), &row);
	emit(ctx, bpf_get_current_task_btf(), &row, cfg.how[EVENT_VFS_READ]);
	return 0;
}
