// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/jitkeys.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define PROCESSES_MAX 4096 /* if there are more, all are dropped and queried again */
#define NAMES_CNT     8192
#define SILENT_NS     1000000000 /* interval of queries of a process that publishes no names */
#define TELLS_NS      100000000	 /* … of one that does: a place may have got another function */

struct jitkeys_known {
	uint32_t tgid;
	uint32_t generation; /* 0: it publishes no names */
	uint64_t ask_ns;     /* time of the next query */
	UT_hash_handle hh;
};

struct name {
	uint64_t addr, hash;
	uint32_t tgid, generation;
};

struct jit_keys {
	struct jitkeys_known *processes;
	struct jitkeys_known *in_hand; /* of the current stack; NULL: nothing is known */
	struct stack_owner owner;
	struct name names[NAMES_CNT];
};

struct jit_keys *jit_keys__new(void)
{
	return calloc(1, sizeof(struct jit_keys));
}

static void jitkeys_forget(struct jit_keys *k)
{
	struct jitkeys_known *p, *next;

	HASH_ITER (hh, k->processes, p, next) {
		HASH_DEL(k->processes, p);
		free(p);
	}
	k->in_hand = NULL;
	k->owner = (struct stack_owner){ 0 };
}

void jit_keys__free(struct jit_keys *k)
{
	if (!k)
		return;
	jitkeys_forget(k);
	free(k);
}

/* Keeps the process of the previous stack, because stacks come in runs of one process. */
static void jitkeys_take_in_hand(struct jit_keys *k, const struct stack_owner *o)
{
	if (k->owner.tgid != o->tgid)
		HASH_FIND(hh, k->processes, &o->tgid, sizeof(o->tgid), k->in_hand);
	k->owner = *o;
}

bool jit_keys__begin(struct jit_keys *k, const struct stack_owner *o)
{
	jitkeys_take_in_hand(k, o);
	return !k->in_hand || k->in_hand->generation || o->time_ns >= k->in_hand->ask_ns;
}

bool jit_keys__due(struct jit_keys *k)
{
	if (!k->in_hand || k->owner.time_ns < k->in_hand->ask_ns)
		return false;
	k->in_hand->ask_ns = k->owner.time_ns + TELLS_NS;
	return true;
}

static uint32_t jitkeys_generation(const struct jit_keys *k)
{
	return k->in_hand ? k->in_hand->generation : 0;
}

static size_t jitkeys_slot(const struct jit_keys *k, uint64_t addr)
{
	const uint64_t place[] = { addr, k->owner.tgid };

	return XXH3_64bits(place, sizeof(place)) % NAMES_CNT;
}

bool jit_keys__name(const struct jit_keys *k, uint64_t addr, uint64_t *hash)
{
	const struct name *n = &k->names[jitkeys_slot(k, addr)];
	const uint64_t place[] = { addr, k->owner.tgid, jitkeys_generation(k) };
	bool known = n->addr == addr && n->tgid == k->owner.tgid &&
		     n->generation == jitkeys_generation(k) && n->generation;

	*hash = known ? n->hash : XXH3_64bits(place, sizeof(place));
	return known;
}

static struct jitkeys_known *jitkeys_add(struct jit_keys *k, uint32_t tgid)
{
	struct jitkeys_known *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->tgid = tgid;
	HASH_ADD(hh, k->processes, tgid, sizeof(p->tgid), p);
	if (HASH_ADDED(p))
		return p;
	free(p);
	return NULL;
}

void jit_keys__learn(struct jit_keys *k, const struct stack_owner *o, uint32_t now)
{
	if (HASH_COUNT(k->processes) >= PROCESSES_MAX)
		jitkeys_forget(k);
	jitkeys_take_in_hand(k, o);
	if (!k->in_hand)
		k->in_hand = jitkeys_add(k, o->tgid);
	if (!k->in_hand)
		return;
	k->in_hand->generation = now;
	k->in_hand->ask_ns = o->time_ns + (now ? TELLS_NS : SILENT_NS);
}

void jit_keys__learn_name(struct jit_keys *k, uint64_t addr, uint64_t hash)
{
	if (k->in_hand)
		k->names[jitkeys_slot(k, addr)] =
			(struct name){ addr, hash, k->owner.tgid, jitkeys_generation(k) };
}
