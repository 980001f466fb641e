// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Paths of open files, composed from the names of their folders as d_path() does. bpf_d_path()
 * itself is only for few functions, none of which is in the way of a read. Composing a path reads
 * 5 to 6 fields for each folder, so it is done once for each file.
 */
#include "bpf/filepath.bpf.h"

#define PATH_SZ	  256 /* a power of 2, with the NUL */
#define STEP_MAX  32  /* folders and mounts */
#define PATHS_MAX 4096

/* What a path depends on, but for the names of the folders above. */
struct path_key {
	const void *dentry, *folder, *mnt;
	__u64 folder_ino; /* the kernel may use the memory of a folder for another one */
	__u64 hash_len;	  /* of the name */
};

enum path_state {
	PATH_NEW,
	PATH_WHOLE, /* `text` from `begin` on */
	PATH_NONE,
};

struct path_text {
	__u64 state; /* enum path_state */
	__u64 begin;
	char fs[16];
	/* The text ends at PATH_SZ. The verifier knows only that a name begins before PATH_SZ and
	 * has less than 256 bytes. */
	char text[2 * PATH_SZ];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct path_key);
	__type(value, struct path_text);
	__uint(max_entries, PATHS_MAX); /* 2.6 MB */
} file_paths SEC(".maps");

static const struct path_text path_zero;

/* Always 0, which the verifier does not know: what is added to it has no bounds. Else the verifier
 * would check each step again for each number of names before it. */
static volatile __u64 unknown_zero;

static __always_inline const struct mount *mount_of(const void *mnt)
{
	return mnt - bpf_core_field_offset(struct mount, mnt);
}

/* Where in the tree of folders and mounts a path has been composed to. */
struct path_walk {
	const struct dentry *dentry;
	const struct mount *mount;
	__u64 begin;
};

/* Puts the name of the folder before the text. Returns false if there is no room. */
static __always_inline bool path__prepend(struct path_text *p, struct path_walk *w)
{
	const struct dentry *dentry = w->dentry;
	__u64 len = BPF_CORE_READ(dentry, d_name.hash_len) >> 32;

	if (len >= w->begin)
		return false;
	w->begin -= len;
	bpf_probe_read_kernel(&p->text[w->begin & (PATH_SZ - 1)], len & (PATH_SZ - 1),
			      BPF_CORE_READ(dentry, d_name.name));
	w->begin = (w->begin - 1 + unknown_zero) & (PATH_SZ - 1);
	p->text[w->begin] = '/';
	return true;
}

/* Goes one step up. Returns PATH_NEW if there are more. */
static __always_inline enum path_state path__step(struct path_text *p, struct path_walk *w)
{
	const struct dentry *dentry = w->dentry, *folder = BPF_CORE_READ(dentry, d_parent);
	const struct mount *mount = w->mount, *below;

	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		below = BPF_CORE_READ(mount, mnt_parent);
		if (below == mount)
			return PATH_WHOLE;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = below;
		return PATH_NEW;
	}
	if (folder == dentry || !path__prepend(p, w))
		return PATH_NONE;
	w->dentry = folder;
	return PATH_NEW;
}

/* Two CPUs may compose the same path at once: they write the same bytes. */
static __noinline void path__compose(struct path_text *p, const struct file *file)
{
	struct path_walk w = { .dentry = BPF_CORE_READ(file, f_path.dentry),
			       .mount = mount_of(BPF_CORE_READ(file, f_path.mnt)),
			       .begin = (PATH_SZ - 1 + unknown_zero) & (PATH_SZ - 1) };
	__u64 state = PATH_NEW;

	bpf_probe_read_kernel_str(p->fs, sizeof(p->fs),
				  BPF_CORE_READ(file, f_inode, i_sb, s_type, name));
	for (__u64 i = 0; i < STEP_MAX && state == PATH_NEW; i++)
		state = path__step(p, &w);
	if (w.begin == PATH_SZ - 1) { /* the root folder itself */
		w.begin = PATH_SZ - 2;
		p->text[PATH_SZ - 2] = '/';
	}
	p->begin = w.begin;
	p->state = state == PATH_WHOLE ? PATH_WHOLE : PATH_NONE;
}

static __always_inline struct path_text *path__find(const struct file *file)
{
	struct path_key key = { .dentry = BPF_CORE_READ(file, f_path.dentry),
				.mnt = BPF_CORE_READ(file, f_path.mnt) };
	const struct dentry *dentry = key.dentry, *folder = BPF_CORE_READ(dentry, d_parent);
	struct path_text *p;

	key.folder = folder;
	key.folder_ino = BPF_CORE_READ(folder, d_inode, i_ino);
	key.hash_len = BPF_CORE_READ(dentry, d_name.hash_len);
	p = bpf_map_lookup_elem(&file_paths, &key);
	if (!p) {
		bpf_map_update_elem(&file_paths, &key, &path_zero, BPF_NOEXIST);
		p = bpf_map_lookup_elem(&file_paths, &key);
	}
	if (p && p->state == PATH_NEW)
		path__compose(p, file);
	return p;
}

long file_path__read(struct event_path *out, const struct file *file)
{
	struct path_text *p = path__find(file);
	__u64 begin, sz;

	if (!p || p->state != PATH_WHOLE)
		return 0;
	begin = p->begin & (PATH_SZ - 1);
	sz = PATH_SZ - begin;
	OPAQUE(sz);
	if (sz > sizeof(out->path))
		return 0;
	__builtin_memcpy(out->fs, p->fs, sizeof(out->fs));
	bpf_probe_read_kernel(out->path, sz, &p->text[begin]);
	return (sizeof(out->fs) + sz + 7) & ~7UL;
}
