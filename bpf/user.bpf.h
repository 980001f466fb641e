/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the memory of the thread that an event is about. */
#ifndef USER_BPF_H
#define USER_BPF_H

#include "bpf/base.bpf.h"

/* A bounce buffer for each slot; empty if cfg.bounce is 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__type(key, __u32);
	__uint(max_entries, 1);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(key_size, sizeof(__u32));
			__uint(value_size, CAPTURE_BOUNCE_SZ);
			__uint(max_entries, 1);
		});
} bounces SEC(".maps");

/* The thread to read from. */
struct user {
	struct task_struct *task;
	const struct mm_struct
		*mm;  /* that of the task; each place that reads it costs the verifier 1 ms */
	void *bounce; /* that of the slot; NULL: none */
	__u64 how;
	struct event *event; /* what is read is put into its slot */
};

static __always_inline bool user__bounces(const struct user *u)
{
	return cfg.bounce && !(u->how & CAPTURE_FAULT);
}

static __always_inline struct capture_slot *slot__of(struct event *e)
{
	return (void *)e - offsetof(struct capture_slot, event);
}

static __always_inline void *slot__bounce(struct event *e)
{
	struct capture_slot *slot = slot__of(e);
	void *bounce = bpf_map_lookup_elem(&bounces, &slot->idx);

	return bounce ? bpf_map_lookup_elem(bounce, &(__u32){ 0 }) : NULL;
}

/* With a bounce buffer, reads at most CAPTURE_BOUNCE_SZ. */
static __always_inline long user__read(const struct user *u, void *dst, __u32 sz, __u64 addr)
{
	if (u->how & CAPTURE_FAULT)
		return bpf_copy_from_user_task(dst, sz, (const void *)addr, u->task, 0);
	if (!user__bounces(u))
		return bpf_probe_read_user(dst, sz, (const void *)addr);
	if (!u->bounce || bpf_probe_read_user(u->bounce, sz, (const void *)addr))
		return -1;
	return bpf_probe_read_kernel(dst, sz, u->bounce);
}

/* Returns 0 if the word cannot be read. */
static __always_inline __u64 user__word(const struct user *u, __u64 addr)
{
	__u64 word = 0;

	return user__read(u, &word, sizeof(word), addr) ? 0 : word;
}

#endif
