// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/capture_private.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mount.h"
#include "base/strcopy.h"

#define TARGETS_MAX \
	65536 /* processes at a time; 4 MB of kernel memory, only if processes are chosen */

/* ---- before loading -----------------------------------------------------------------------------
 */

static bool capture_filter_names_self(const struct capture_filter *f)
{
	char comm[EVENT_COMM_SZ] = "";
	FILE *file = fopen("/proc/self/comm", "re");

	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
	for (size_t i = 0; i < f->comm_cnt; i++) {
		if (!strncmp(f->comms[i], comm, sizeof(comm) - 1))
			return true;
	}
	for (size_t i = 0; i < f->pid_cnt; i++) {
		if (f->pids[i] == (uint32_t)getpid())
			return true;
	}
	return false;
}

int capture__set_filter(struct capture *c, const struct capture_filter *f)
{
	struct capture_config *cfg = &c->skel->rodata->cfg;
	const struct {
		struct bpf_map *map;
		size_t cnt;
	} sizes[] = {
		{ c->skel->maps.targets, TARGETS_MAX },	  { c->skel->maps.tids, f->pid_cnt },
		{ c->skel->maps.comms, f->comm_cnt },	  { c->skel->maps.uids, f->uid_cnt },
		{ c->skel->maps.cgroups, f->cgroup_cnt },
	};
	int err = 0;

	cfg->who = f->none_yet || f->comm_cnt || f->pid_cnt;
	cfg->tid_cnt = (uint32_t)f->pid_cnt;
	cfg->comm_cnt = (uint32_t)f->comm_cnt;
	cfg->uid_cnt = (uint32_t)f->uid_cnt;
	cfg->cgroup_cnt = (uint32_t)f->cgroup_cnt;
	if (!capture_filter_names_self(f)) {
		cfg->exclude_tgids[0] = (uint32_t)getpid();
		cfg->exclude_tgids[1] = f->keeper_pid;
		cfg->exclude_tgids[2] = f->starter_pid;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && !err; i++) {
		size_t cnt = sizes[i].map == c->skel->maps.targets && !cfg->who ? 1 : sizes[i].cnt;

		err = bpf_map__set_max_entries(sizes[i].map, cnt ? (uint32_t)cnt : 1);
	}
	return err;
}

/* ---- after loading ------------------------------------------------------------------------------
 */

static int capture_filter_put(struct bpf_map *map, const void *key)
{
	const uint8_t value = 1;

	return bpf_map_update_elem(bpf_map__fd(map), key, &value, BPF_ANY) ? -errno : 0;
}

static int capture_filter_add_target(struct capture *c, uint32_t tgid, uint64_t start_ns)
{
	if (!bpf_map_update_elem(bpf_map__fd(c->skel->maps.targets), &tgid, &start_ns, BPF_ANY))
		return 0;
	log__error("cannot add process %u to the recorded processes: %s", tgid, strerror(errno));
	return -errno;
}

int capture__add_target(struct capture *c, uint32_t tgid)
{
	/* any start time: the kernel knows the exact one */
	return capture_filter_add_target(c, tgid, 0);
}

static bool capture_filter_has_any(const struct bpf_map *map)
{
	uint32_t key;

	return bpf_map_get_next_key(bpf_map__fd(map), NULL, &key) == 0;
}

bool capture__has_targets(const struct capture *c)
{
	return capture_filter_has_any(c->skel->maps.targets) ||
	       capture_filter_has_any(c->skel->maps.tids);
}

int capture__add_command(struct capture *c, uint32_t tgid, const char *program)
{
	int err = capture_filter_add_target(c, tgid, CAPTURE_FROM_EXEC);

	if (!err)
		alloc__add_command(c->alloc, tgid, program);
	return err;
}

/* Returns the process of a thread; 0 if there is none. */
static uint32_t capture_filter_process_of(uint32_t tid)
{
	char path[64], line[256];
	uint32_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	while (f && !tgid && fgets(line, sizeof(line), f))
		sscanf(line, "Tgid: %u", &tgid);
	if (f)
		fclose(f);
	return tgid;
}

/* A process that exists after this call is removed when it ends (filter__free). */
static int capture_filter_put_pid(struct capture *c, uint32_t pid)
{
	uint32_t tgid = capture_filter_process_of(pid);
	int err = tgid == pid ? capture__add_target(c, pid)
			      : capture_filter_put(c->skel->maps.tids, &pid);

	if (err || (tgid && capture_filter_process_of(pid)))
		return err;
	log__error("there is no process or thread %u", pid);
	return -ESRCH;
}

static int capture_filter_put_comm(struct capture *c, const char *comm)
{
	char key[EVENT_COMM_SZ] = "";

	str__copy(key, sizeof(key), comm);
	return capture_filter_put(c->skel->maps.comms, key);
}

/* Reads the cgroup's id, the inode number of its folder. */
static int capture_filter_cgroup_id(const char *path, uint64_t *id)
{
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) || stat(path, &st))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*id = st.st_ino;
	return 0;
}

/* Accepts "/sys/fs/cgroup/a", and "a" or "/a" below the root. */
static int capture_filter_put_cgroup(struct capture *c, const char *name)
{
	char *root = mount__point("cgroup2"), path[PATH_MAX];
	uint64_t id;
	int err = *name == '/' ? capture_filter_cgroup_id(name, &id) : -ENOENT;

	if (err && root) {
		snprintf(path, sizeof(path), "%s/%s", root, name);
		err = capture_filter_cgroup_id(path, &id);
	}
	if (!err)
		err = capture_filter_put(c->skel->maps.cgroups, &id);
	else if (!root)
		log__error("cgroup '%s': no cgroup v2 file system is mounted", name);
	else
		log__error("'%s' is not a cgroup below %s: %s", name, root, strerror(-err));
	free(root);
	return err;
}

int capture__fill_filter(struct capture *c, const struct capture_filter *f)
{
	int err = 0;

	for (size_t i = 0; i < f->comm_cnt && !err; i++)
		err = capture_filter_put_comm(c, f->comms[i]);
	for (size_t i = 0; i < f->pid_cnt && !err; i++)
		err = capture_filter_put_pid(c, f->pids[i]);
	for (size_t i = 0; i < f->uid_cnt && !err; i++)
		err = capture_filter_put(c->skel->maps.uids, &f->uids[i]);
	for (size_t i = 0; i < f->cgroup_cnt && !err; i++)
		err = capture_filter_put_cgroup(c, f->cgroups[i]);
	return err;
}
