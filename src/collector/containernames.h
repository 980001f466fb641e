/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of containers, from the files in which Docker, containerd, CRI-O and Podman keep their
 * state. A container is found by the id in its cgroup's path.
 */
#ifndef COLLECTOR_CONTAINERNAMES_H
#define COLLECTOR_CONTAINERNAMES_H

struct container_names;

/* `root` precedes all paths; "" but in tests. Returns NULL if out of memory. */
struct container_names *container_names__new(const char *root);
void container_names__free(struct container_names *); /* accepts NULL */

/* Returns the name of the container of this cgroup, or NULL. A new container's files are read.
 * Valid until the next call. */
const char *container_names__find(struct container_names *, const char *cgroup);

#endif
