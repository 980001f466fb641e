// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/digest.h"
#include "base/seed.h"
#include "stacks/origin.h"
#include "stacks/rowframes.h"
#include "stacks/symbolizer.h"

#define MACHINERY_MAX 10   /* frames */
#define CACHE_CNT     4096 /* a busy machine has some hundred distinct addresses in kernel stacks */
#define IDS_CNT	      32768

/* The part of a frame in the stack ID: the origin of its code (origin.h), and the place in it. */
struct frame_key {
	uint64_t origin, place;
};

#define STITCHED \
	1ull /* added to the origin of a stitched frame, so that it counts as a different one */

/* A cache of IDs. They are made by a cryptographic hash, so that no user can make a stack with the
 * ID of another; that is slow. */
struct known_id {
	uint64_t hash; /* of the keys, with our seed */
	uint64_t id;   /* 0: free */
};

/* A cache of keys that need a look-up in a symbol table: those of kernel frames, and of files
 * without a build ID. */
struct cached_key {
	uint64_t file, place; /* file 0: the kernel */
	struct frame_key key;
	bool machinery; /* a kernel frame that calls our programs */
	bool entry;	/* a kernel frame with which an interrupt begins */
};

struct stacks {
	struct recording *recording;
	struct kallsyms *kernel;
	struct symbolizer *symbolizer;
	struct jit_keys *jit;
	struct row_frames *rows;
	uint64_t kernel_origin; /* of its build ID */
	bool awaits;		/* the ID being made needs a symbol table that is not read yet */
	size_t nameless_cnt;	/* stacks that were written before their names were found */
	int err;		/* sticky: a stack that rows refer to could not be added */
	struct frame_key keys[TRACE_MAX];
	struct stack_frame described[TRACE_MAX];
	struct row_frame frames[TRACE_MAX];
	struct cached_key cache[CACHE_CNT];
	struct known_id ids[IDS_CNT];
};

struct stacks *stacks__new(struct recording *recording, struct jit *jit, struct workers *workers)
{
	struct stacks *s = calloc(1, sizeof(*s));
	struct build_id id = kernel__build_id();

	if (!s)
		return NULL;
	s->recording = recording;
	s->kernel_origin = digest__of(id.bytes, id.sz);
	s->symbolizer = symbolizer__new(jit, workers);
	s->jit = jit_keys__new();
	s->rows = row_frames__new(recording, s->symbolizer);
	if (s->symbolizer && s->jit && s->rows)
		return s;
	stacks__free(s);
	return NULL;
}

void stacks__set_kernel(struct stacks *s, struct kallsyms *kernel)
{
	s->kernel = kernel;
	row_frames__set_kernel(s->rows, kernel);
	memset(s->cache, 0,
	       sizeof(s->cache)); /* the keys of kernel frames were made without these names */
}

void stacks__free(struct stacks *s)
{
	if (!s)
		return;
	symbolizer__free(s->symbolizer);
	jit_keys__free(s->jit);
	row_frames__free(s->rows);
	free(s);
}

static uint64_t stack_origin_of_name(const char *name)
{
	return XXH3_64bits(name, strlen(name)) & ORIGIN_BITS;
}

/* Returns the ID of the first `cnt` keys. */
static uint64_t stack_id(struct stacks *s, size_t cnt)
{
	uint64_t hash = XXH3_64bits_withSeed(s->keys, cnt * sizeof(*s->keys), seed__get());
	struct known_id *k = &s->ids[hash % IDS_CNT];

	if (k->hash != hash || !k->id) {
		k->hash = hash;
		k->id = digest__of(s->keys, cnt * sizeof(*s->keys));
		k->id += !k->id;
	}
	return k->id;
}

/* Returns the slot for a place. Sets *hit if the slot holds its key already. */
static struct cached_key *stack_cached(struct stacks *s, uint64_t file, uint64_t place, bool *hit)
{
	struct cached_key *c = &s->cache[((place >> 1) ^ file) % CACHE_CNT];

	*hit = c->file == file && c->place == place;
	c->file = file;
	c->place = place;
	return c;
}

/* ---- user stacks --------------------------------------------------------------------------------
 */

/* Returns the key in a file without a build ID: the name at the place, or else its address. */
static struct frame_key stack_nameless_key(struct stacks *s, const struct location *l)
{
	const struct elf_file *f = l->map->file;
	const uint64_t identity[] = { f->dev, f->ino, (uint64_t)f->ctime.tv_sec,
				      (uint64_t)f->ctime.tv_nsec };
	struct symbol symbol;
	bool hit;
	struct cached_key *c =
		stack_cached(s, XXH3_64bits(identity, sizeof(identity)), l->file_off, &hit);
	struct frame_key *k = &c->key;
	int err = -ENOENT;

	if (hit)
		return *k;
	*k = (struct frame_key){ stack_origin_of_name(location__module(l)), l->file_off };
	if (l->has_vaddr)
		err = symbolizer__symbol(s->symbolizer, l->map->file, l->vaddr, &symbol);
	if (err == 0)
		k->place = digest__of(symbol.name, strlen(symbol.name));
	if (err == -EAGAIN) {
		s->awaits = true;
		c->file = c->place = 0;
	}
	return *k;
}

/* Returns true for code that a process has made, or code of a file that no longer exists: the
 * process may publish its name. */
static bool stack_may_be_jit(struct stacks *s, const struct mapping *m,
			     const struct stack_owner *owner)
{
	return m && !m->file && !m->build_id.sz &&
	       (m->kind == MAPPING_ANON || m->kind == MAPPING_FILE) &&
	       jit_keys__begin(s->jit, owner);
}

/* Returns the key of JIT code: its name, if known, which is the same in every process; else its
 * address. */
static struct frame_key stack_jit_key(const struct stacks *s, uint64_t place)
{
	struct frame_key k;
	bool named = jit_keys__name(s->jit, place, &k.place);

	k.origin = stack_origin_of_name(named ? JIT_MODULE : JIT_MODULE " unnamed");
	return k;
}

/* Returns the key of code that is in no file with a build ID. */
static struct frame_key stack_odd_key(struct stacks *s, const struct location *l)
{
	bool anonymous = location__is_anonymous(l);

	if (l->map && l->map->file)
		return stack_nameless_key(s, l);
	/* from records about a file that could not be read: any user may have made them up */
	if (!anonymous && l->map->build_id.sz)
		return (struct frame_key){
			ORIGIN_BITS &
				XXH3_64bits_withSeed(l->map->build_id.bytes, l->map->build_id.sz,
						     stack_origin_of_name(location__module(l))),
			l->file_off
		};
	/* Anonymous code counts as a whole, because its address is random. */
	return (struct frame_key){ stack_origin_of_name(location__module(l)),
				   anonymous ? 0 : l->file_off };
}

static struct frame_key stack_slow_key(struct stacks *s, const struct frame *f,
				       const struct stack_owner *owner, bool *jit)
{
	struct location l = location__of(f);

	if (!stack_may_be_jit(s, l.map, owner))
		return stack_odd_key(s, &l);
	*jit = true;
	return stack_jit_key(s, l.place);
}

/* The key consists of script, function and the line in the function, so that it survives changes
 * elsewhere in the script. */
static struct frame_key stack_script_key(const struct script_call *c)
{
	return (struct frame_key){ c->script->module_key & ORIGIN_BITS,
				   c->script->name_key + c->line_in };
}

static bool stack_describe(struct stacks *s, const struct frame *f, const struct stack_owner *owner,
			   struct stack_frame *out)
{
	return row_frames__user(s->rows, f, stack_may_be_jit(s, f->map, owner), out);
}

static void stack_add_rows(struct stacks *s, uint64_t id, const struct stack_frame *frames,
			   size_t cnt)
{
	size_t at = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct row_frame inlined[CODE_LINES_MAX];
		size_t more = row_frames__inlined(s->rows, &frames[i], inlined);

		if (at + more + cnt - i <= TRACE_MAX) {
			memcpy(s->frames + at, inlined, more * sizeof(*inlined));
			at += more;
		}
		s->frames[at++] = frames[i].row;
	}
	if (recording__add_stack(s->recording, id, s->frames, at) != 0)
		s->err = -ENOMEM;
}

/* Submits what stack_describe() found to the name thread. With id 0, only to learn about JIT code
 * and symbol tables. */
static int stack_submit(struct stacks *s, size_t cnt, const struct stack_owner *owner, uint64_t id)
{
	struct stack_job *job = malloc(sizeof(*job) + cnt * sizeof(*job->frames));

	if (!job || (id && recording__reserve_stack(s->recording, id) != 0)) {
		for (size_t i = 0; i < cnt; i++)
			stack_frame__release_file(&s->described[i]);
		free(job);
		return -ENOMEM;
	}
	*job = (struct stack_job){ .stack_id = id, .owner = *owner, .cnt = cnt };
	memcpy(job->frames, s->described, cnt * sizeof(*job->frames));
	if (symbolizer__submit(s->symbolizer, job))
		return 0;
	s->nameless_cnt += id != 0;
	if (id)
		stack_add_rows(s, id, job->frames, cnt);
	stack_job__free(job);
	return 0;
}

/* Adds a stack that the batch does not have. Returns 0, or -ENOMEM: then the batch will not have
 * it. */
static int stack_add_new(struct stacks *s, const struct trace *t, const struct stack_owner *owner,
			 uint64_t id)
{
	bool named = true;

	for (size_t i = 0; i < t->cnt; i++) {
		if (t->frames[i].flags & FRAME_SCRIPT)
			row_frames__script(s->rows, trace__call(t, i), &s->described[i]);
		else
			named &= stack_describe(s, &t->frames[i], owner, &s->described[i]);
	}
	if (!named || !id)
		return stack_submit(s, t->cnt, owner, id);
	stack_add_rows(s, id, s->described, t->cnt);
	return 0;
}

static uint64_t stack_user_id(struct stacks *s, const struct trace *t,
			      const struct stack_owner *owner, bool *jit)
{
	*jit = s->awaits = false;
	for (size_t i = 0; i < t->cnt; i++) {
		const struct frame *f = &t->frames[i];
		const struct mapping *m = f->map;

		if (f->flags & FRAME_SCRIPT)
			s->keys[i] = stack_script_key(trace__call(t, i));
		else if (m && m->file && m->file->origin)
			s->keys[i] = (struct frame_key){ m->file->origin,
							 frame__place(f) - m->start + m->pgoff };
		else
			s->keys[i] = stack_slow_key(s, f, owner, jit);
		if (f->source == FRAME_BY_STITCH)
			s->keys[i].origin ^= STITCHED;
	}
	return stack_id(s, t->cnt);
}

int stacks__user(struct stacks *s, const struct trace *t, const struct stack_owner *owner,
		 uint64_t *stack_id)
{
	bool jit;
	uint64_t id = stack_user_id(s, t, owner, &jit);

	*stack_id = 0;
	if (s->awaits && !owner->last) {
		stack_add_new(s, t, owner, 0); /* only so that the tables are read */
		return -EAGAIN;
	}
	if (recording__has_stack(s->recording, id)) {
		*stack_id = id;
		if (jit && jit_keys__due(s->jit))
			stack_add_new(s, t, owner, 0);
		return 0;
	}
	*stack_id = stack_add_new(s, t, owner, id) == 0 ? id : 0;
	return 0;
}

static void stack_learn(struct stacks *s, const struct stack_job *job)
{
	if (job->has_jit)
		jit_keys__learn(s->jit, &job->owner, job->jit_generation);
	for (size_t i = 0; job->has_jit && i < job->cnt; i++)
		if (job->frames[i].jit_name)
			jit_keys__learn_name(s->jit, job->frames[i].vaddr,
					     digest__of(job->frames[i].jit_name,
							strlen(job->frames[i].jit_name)));
}

static void stack_add(struct stacks *s, struct stack_job *job)
{
	s->nameless_cnt += job->gave_up && job->stack_id;
	if (!job->gave_up)
		stack_learn(s, job);
	for (size_t i = 0; i < job->cnt; i++)
		if (!job->gave_up || job->frames[i].symbol.name)
			row_frames__name(s->rows, &job->frames[i]);
	if (job->stack_id)
		stack_add_rows(s, job->stack_id, job->frames, job->cnt);
}

size_t stacks__collect(struct stacks *s)
{
	struct stack_job *job;
	size_t cnt = 0;

	while ((job = symbolizer__take(s->symbolizer)) != NULL) {
		stack_add(s, job);
		stack_job__free(job);
		cnt++;
	}
	return cnt;
}

size_t stacks__unnamed(const struct stacks *s)
{
	return symbolizer__pending(s->symbolizer);
}

size_t stacks__unnamed_sz(const struct stacks *s)
{
	return symbolizer__sz(s->symbolizer);
}

size_t stacks__kernel_names_sz(const struct stacks *s)
{
	return s->kernel ? kallsyms__sz(s->kernel) : 0;
}

int stacks__err(const struct stacks *s)
{
	return s->err;
}

size_t stacks__nameless(const struct stacks *s)
{
	return s->nameless_cnt;
}

void stacks__finish(struct stacks *s, uint64_t patience_ns)
{
	symbolizer__wait(s->symbolizer, patience_ns);
	stacks__collect(s);
}

/* ---- kernel stacks ------------------------------------------------------------------------------
 */

static bool stack_begins_with_any(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++) {
		if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
			return true;
	}
	return false;
}

/* Functions that call a BPF program at a tracepoint or a function; they lie above the program's own
 * frames. */
static const char *const machinery[] = { "bpf_trace_run",   "__bpf_trace_",	"__traceiter_",
					 "bpf_trampoline_", "call_trace_sock_", NULL };

/* Functions with which interrupts begin on x86 and AArch64. The frames below them were interrupted,
 * or happened to let softirqs run. */
static const char *const entries[] = { "handle_softirqs",      "__do_softirq",
				       "asm_common_interrupt", "asm_sysvec_",
				       "asm_fred_entrypoint",  "el1h_64_irq",
				       "el0t_64_irq",	       NULL };

static uint64_t stack_kernel_origin(const struct stacks *s, const char *module)
{
	return ORIGIN_KERNEL | ((stack_origin_of_name(module) ^ s->kernel_origin) & ORIGIN_BITS);
}

/* Counts addresses from _text or the module's base, so that the ID survives a reboot with another
 * KASLR offset. */
static const struct cached_key *stack_kernel_key(struct stacks *s, uint64_t place)
{
	struct symbol symbol;
	bool hit;
	struct cached_key *k = stack_cached(s, 0, place, &hit);

	if (hit)
		return k;
	k->key = (struct frame_key){ ORIGIN_KERNEL, place };
	k->machinery = k->entry = false;
	if (s->kernel && kallsyms__symbol(s->kernel, place, &symbol)) {
		k->key = (struct frame_key){ stack_kernel_origin(s, symbol.module),
					     place - symbol.base };
		k->machinery = stack_begins_with_any(symbol.name, machinery);
		k->entry = stack_begins_with_any(symbol.name, entries);
	}
	return k;
}

static uint64_t stack_kernel_place(const uint64_t *pcs, size_t i)
{
	return i ? pcs[i] - 1 : pcs[i];
}

/* Returns the number of frames on top that belong to our program and its callers. */
static size_t stack_machinery_cnt(struct stacks *s, const uint64_t *pcs, size_t cnt)
{
	size_t own = 0;

	for (size_t i = 0; i < cnt && i < MACHINERY_MAX; i++) {
		if (stack_kernel_key(s, stack_kernel_place(pcs, i))->machinery)
			own = i + 1;
	}
	return own;
}

/* Returns the number of frames up to the one with which the interrupt began. */
static size_t stack_interrupt_cnt(struct stacks *s, const uint64_t *pcs, size_t own, size_t cnt)
{
	for (size_t i = own; i < cnt; i++) {
		if (stack_kernel_key(s, stack_kernel_place(pcs, i))->entry)
			return i + 1;
	}
	return cnt;
}

uint64_t stacks__kernel(struct stacks *s, const uint64_t *pcs, size_t all, bool interrupt)
{
	size_t own = stack_machinery_cnt(s, pcs, all), cnt;
	uint64_t id;

	if (interrupt)
		all = stack_interrupt_cnt(s, pcs, own, all);
	cnt = all - own > TRACE_MAX ? TRACE_MAX : all - own;

	for (size_t i = 0; i < cnt; i++)
		s->keys[i] = stack_kernel_key(s, stack_kernel_place(pcs, own + i))->key;
	id = stack_id(s, cnt);
	if (recording__has_stack(s->recording, id))
		return id;
	for (size_t i = 0; i < cnt; i++)
		row_frames__kernel(s->rows, stack_kernel_place(pcs, own + i), &s->frames[i]);
	if (recording__reserve_stack(s->recording, id) != 0)
		return 0;
	if (recording__add_stack(s->recording, id, s->frames, cnt) != 0)
		s->err = -ENOMEM;
	return id;
}
