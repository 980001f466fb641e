// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/containernames.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/jsonscan.h"

#define ID_SZ	   64
#define NAME_SZ	   512
#define PART_SZ	   254
#define FILE_MAX   (1 << 20)
#define KNOWN_MAX  4096 /* containers; with more, all are forgotten */
#define LIST_LEVEL 2	/* [ { "id": … } ] */

struct known_container {
	char id[ID_SZ];
	UT_hash_handle hh;
	char name[]; /* empty: none was found */
};

struct container_names {
	char *root;
	struct known_container *by_id;
};

struct container_names *container_names__new(const char *root)
{
	struct container_names *c = calloc(1, sizeof(*c));

	if (c)
		c->root = strdup(root);
	if (c && c->root)
		return c;
	free(c);
	return NULL;
}

static void containernames_forget_all(struct container_names *c)
{
	struct known_container *k, *next;

	HASH_ITER (hh, c->by_id, k, next) {
		HASH_DEL(c->by_id, k);
		free(k);
	}
}

void container_names__free(struct container_names *c)
{
	if (!c)
		return;
	containernames_forget_all(c);
	free(c->root);
	free(c);
}

/* ---- ids ----------------------------------------------------------------------------------------
 */

static bool containernames_is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Returns the first id in the path, or NULL; as container_of() in sql/stacks.sql. */
static const char *containernames_find_id(const char *cgroup)
{
	for (const char *at = cgroup; *at;) {
		size_t sz = 0;

		while (containernames_is_hex(at[sz]))
			sz++;
		if (sz == ID_SZ && (at == cgroup || strchr("-/:", at[-1])) &&
		    (!at[sz] || at[sz] == '/' || strncmp(at + sz, ".scope", 6) == 0))
			return at;
		at += sz ? sz : 1;
	}
	return NULL;
}

/* ---- the files of the runtimes ------------------------------------------------------------------
 */

/* What is looked for in a file, and what was found. */
struct containernames_naming {
	const char *id;
	bool is_this; /* the element of the list is the container */
	char name[PART_SZ], namespace[PART_SZ], pod[PART_SZ];
};

/* Takes names as runtimes allow them; nothing else gets into a recording. */
static void containernames_take_name(char to[PART_SZ], const struct jsonscan_text *text)
{
	size_t skip = text->sz && text->at[0] == '/'; /* Docker's */

	if (*to || text->sz - skip >= PART_SZ)
		return;
	for (size_t i = skip; i < text->sz; i++)
		if (!isalnum((unsigned char)text->at[i]) && !strchr("_.-/", text->at[i]))
			return;
	memcpy(to, text->at + skip, text->sz - skip);
	to[text->sz - skip] = '\0';
}

static bool containernames_see_docker(const struct jsonscan_value *v, void *arg)
{
	struct containernames_naming *n = arg;

	if (v->depth == 1 && jsonscan_text__is(&v->key, "Name"))
		containernames_take_name(n->name, &v->value);
	return n->name[0];
}

/* The annotations of containerd's CRI plugin, of CRI-O, and of nerdctl. */
static bool containernames_see_oci(const struct jsonscan_value *v, void *arg)
{
	static const struct {
		const char *key;
		size_t off;
	} annotations[] = {
		{ "io.kubernetes.cri.container-name",
		  offsetof(struct containernames_naming, name) },
		{ "io.kubernetes.container.name", offsetof(struct containernames_naming, name) },
		{ "nerdctl/name", offsetof(struct containernames_naming, name) },
		{ "io.kubernetes.cri.sandbox-name", offsetof(struct containernames_naming, pod) },
		{ "io.kubernetes.pod.name", offsetof(struct containernames_naming, pod) },
		{ "io.kubernetes.cri.sandbox-namespace",
		  offsetof(struct containernames_naming, namespace) },
		{ "io.kubernetes.pod.namespace",
		  offsetof(struct containernames_naming, namespace) },
	};

	if (v->depth != 2 || !jsonscan_text__is(&v->outer, "annotations"))
		return false;
	for (size_t i = 0; i < sizeof(annotations) / sizeof(*annotations); i++)
		if (jsonscan_text__is(&v->key, annotations[i].key))
			containernames_take_name((char *)arg + annotations[i].off, &v->value);
	return false;
}

/* Podman: a list of all containers. */
static bool containernames_see_list(const struct jsonscan_value *v, void *arg)
{
	struct containernames_naming *n = arg;

	if (v->depth == LIST_LEVEL && jsonscan_text__is(&v->key, "id"))
		n->is_this = v->value.sz == ID_SZ && memcmp(v->value.at, n->id, ID_SZ) == 0;
	if (n->is_this && v->depth == LIST_LEVEL + 1 && jsonscan_text__is(&v->key, "names"))
		containernames_take_name(n->name, &v->value);
	return n->name[0];
}

static const struct state_file {
	const char *before, *after; /* the id, in the path; after NULL: the path has no id */
	jsonscan_fn see;
} state_files[] = {
	{ "/var/lib/docker/containers/", "/config.v2.json", containernames_see_docker },
	{ "/run/containerd/io.containerd.runtime.v2.task/k8s.io/", "/config.json",
	  containernames_see_oci },
	{ "/run/containerd/io.containerd.runtime.v2.task/default/", "/config.json",
	  containernames_see_oci },
	{ "/var/lib/containers/storage/overlay-containers/", "/userdata/config.json",
	  containernames_see_oci },
	{ "/var/lib/containers/storage/overlay-containers/containers.json", NULL,
	  containernames_see_list },
};

/* Opens a file that root owns. Returns a descriptor, or -1. */
static int containernames_open_state(const char *path, size_t *sz)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	    st.st_size <= FILE_MAX) {
		*sz = (size_t)st.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

static void containernames_read_state(const char *path, jsonscan_fn see,
				      struct containernames_naming *n)
{
	size_t sz;
	int fd = containernames_open_state(path, &sz);
	char *text = fd < 0 ? NULL : malloc(sz + 1);
	ssize_t got = text ? pread(fd, text, sz, 0) : -1;

	if (got > 0)
		jsonscan__each(text, (size_t)got, see, n);
	free(text);
	if (fd >= 0)
		close(fd);
}

/* NAME, or NAMESPACE/POD/NAME of Kubernetes; empty if there is none. */
static void containernames_find_name(const struct container_names *c, const char *id,
				     char name[NAME_SZ])
{
	struct containernames_naming n = { .id = id };

	for (size_t i = 0; i < sizeof(state_files) / sizeof(*state_files) && !n.name[0]; i++) {
		const struct state_file *f = &state_files[i];
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s%s%.*s%s", c->root, f->before, f->after ? ID_SZ : 0,
			 id, f->after ? f->after : "");
		containernames_read_state(path, f->see, &n);
	}
	if (n.name[0] && n.pod[0] && n.namespace[0])
		snprintf(name, NAME_SZ, "%.150s/%.150s/%.150s", n.namespace, n.pod, n.name);
	else
		snprintf(name, NAME_SZ, "%s", n.name);
}

/* ---- look-ups -----------------------------------------------------------------------------------
 */

static struct known_container *containernames_remember(struct container_names *c, const char *id)
{
	struct known_container *k;
	char name[NAME_SZ];

	containernames_find_name(c, id, name);
	k = calloc(1, sizeof(*k) + strlen(name) + 1);
	if (!k)
		return NULL;
	if (HASH_COUNT(c->by_id) >= KNOWN_MAX)
		containernames_forget_all(c);
	memcpy(k->id, id, ID_SZ);
	memcpy(k->name, name, strlen(name) + 1);
	HASH_ADD(hh, c->by_id, id, ID_SZ, k);
	if (HASH_ADDED(k))
		return k;
	free(k);
	return NULL;
}

const char *container_names__find(struct container_names *c, const char *cgroup)
{
	const char *id = containernames_find_id(cgroup);
	struct known_container *k = NULL;

	if (!id)
		return NULL;
	HASH_FIND(hh, c->by_id, id, ID_SZ, k);
	if (!k)
		k = containernames_remember(c, id);
	return k && k->name[0] ? k->name : NULL;
}
