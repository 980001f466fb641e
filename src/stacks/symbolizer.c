// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/symbolizer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/jobs.h"
#include "base/monotonic.h"
#include "base/priority.h"
#include "base/thread.h"
#include "symbol/demangle.h"
#include "jit/jit.h"

#define WAITING_FRAMES_MAX (1u << 20) /* some 100 MB */
#define TOGETHER_NS	   1000000    /* stacks come in drains: the thread is woken once for each */

#define FULL_NS	     1000000000 /* how long to wait for room */
#define PARKED_NS    1000000000 /* how long a stack waits for files of its process */
#define RETRY_NS     2000000
#define HUNG_MAX     16	     /* threads that are left behind; then no names are found any more */
#define CROWD_MAX    2	     /* … in files of one user */
#define STILL_CPU_NS 2000000 /* a thread that used less CPU time while it was waited for hangs */
#define END_NS	     500000000

struct queue {
	struct stack_job *first, **last;
};

enum { WORKER, ASKER, THREAD_CNT };

/* The thread that finds names. One that hangs in a file is replaced, and frees nothing. */
struct namer {
	struct symbolizer *symbolizer;
	pthread_t thread;
	pid_t tid;
	bool left_behind;	   /* under both locks */
	struct stack_job *in_hand; /* under .lock */
	struct jit *jit;	   /* NULL: no such names */
	struct jobs *jobs;	   /* that read what processes say of their code */
	struct queue parked;	   /* stacks that wait for these */
};

struct symbolizer {
	struct namer *namer;  /* NULL: none could be started */
	pthread_mutex_t lock; /* of what follows */
	struct bell changed;
	struct queue todo, done;
	size_t todo_frames, parked_cnt;
	bool asleep, stop;
	size_t pending;	       /* of the submitting thread */
	size_t hung_cnt;       /* of the submitting thread */
	pthread_mutex_t files; /* of what follows */
	struct bell given_back;
	const struct elf_file *in_hand[THREAD_CNT]; /* whose symbol table each looks into */
	const struct elf_file *hung[HUNG_MAX];	    /* that threads hang in: never freed */
};

static void queue__put(struct queue *q, struct stack_job *j)
{
	j->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = j;
	q->last = &j->next;
}

static struct stack_job *queue__take(struct queue *q)
{
	struct stack_job *j = q->first;

	if (j)
		q->first = j->next;
	return j;
}

/* Whether a thread hangs in the file, or as many hang in others of its user as may. */
static bool is_hung(const struct symbolizer *s, const struct elf_file *f)
{
	size_t of_crowd = 0;

	for (size_t i = 0; i < HUNG_MAX; i++) {
		if (s->hung[i] == f)
			return true;
		of_crowd += s->hung[i] && f->crowd && s->hung[i]->crowd == f->crowd;
	}
	return of_crowd >= CROWD_MAX;
}

/* A file's table is for one thread at a time. The asker waits for no file: a table may take a
 * second, and rings fill meanwhile. Returns false if there is nothing to be had from the file. */
static bool claim(struct namer *n, const struct elf_file *f)
{
	struct symbolizer *s = n->symbolizer;
	bool ok;

	pthread_mutex_lock(&s->files);
	while (s->in_hand[ASKER] == f)
		bell__wait(&s->given_back, &s->files, UINT64_MAX);
	ok = !n->left_behind && !is_hung(s, f);
	if (ok)
		s->in_hand[WORKER] = f;
	pthread_mutex_unlock(&s->files);
	return ok;
}

static void give_back(struct symbolizer *s, int thread)
{
	s->in_hand[thread] = NULL;
	bell__ring(&s->given_back);
}

static void worker_gives_back(struct namer *n)
{
	pthread_mutex_lock(&n->symbolizer->files);
	if (!n->left_behind)
		give_back(n->symbolizer, WORKER);
	pthread_mutex_unlock(&n->symbolizer->files);
}

static void asker_gives_back(struct symbolizer *s)
{
	pthread_mutex_lock(&s->files);
	give_back(s, ASKER);
	pthread_mutex_unlock(&s->files);
}

static bool try_claim(struct symbolizer *s, const struct elf_file *f)
{
	bool is_free;

	pthread_mutex_lock(&s->files);
	is_free = s->in_hand[WORKER] != f && !is_hung(s, f);
	if (is_free)
		s->in_hand[ASKER] = f;
	pthread_mutex_unlock(&s->files);
	return is_free;
}

int symbolizer__symbol(struct symbolizer *s, struct elf_file *f, uint64_t vaddr,
		       struct symbol *symbol)
{
	int err;

	if (!try_claim(s, f))
		return -EAGAIN;
	err = elf_file__known_symbol(f, vaddr, symbol);
	asker_gives_back(s);
	return err;
}

static void name_frame(struct namer *n, struct stack_frame *f)
{
	struct symbol symbol;

	if (!f->file || !claim(n, f->file))
		return;
	if (elf_file__symbol(f->file, f->vaddr, &symbol))
		f->symbol = symbol;
	worker_gives_back(n);
}

/* Returns false while files of the process are being read. */
static bool name_jit_frame(struct namer *n, struct stack_job *j, struct stack_frame *f)
{
	const struct jit_place place = { j->owner.tgid, f->vaddr, j->owner.time_ns };
	char readable[SYMBOL_NAME_MAX];
	enum jit_answer answer;
	struct jit_symbol symbol;

	j->has_jit = true;
	if (f->jit_name || !n->jit || !n->jobs)
		return true;
	answer = jit__ask(n->jit, &place, n->jobs, &symbol);
	if (answer != JIT_NAMED)
		return answer == JIT_NONE;
	symbol_name(symbol.name, readable);
	f->jit_name = strdup(readable);
	f->symbol = (struct symbol){ .name = f->jit_name, .address = symbol.start };
	return true;
}

/* Files first: what a process says of its code may have to be waited for. */
static void name_files(struct namer *n, struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt && !n->left_behind; i++) {
		j->frames[i].symbol.name = NULL;
		name_frame(n, &j->frames[i]);
	}
}

static bool name_jit_frames(struct namer *n, struct stack_job *j)
{
	bool all = true;

	for (size_t i = 0; i < j->cnt; i++)
		if (j->frames[i].jit)
			all &= name_jit_frame(n, j, &j->frames[i]);
	j->gave_up = !all && monotonic__ns() - j->since_ns >= PARKED_NS;
	if (!all && !j->gave_up)
		return false;
	if (j->has_jit && n->jit)
		j->jit_generation = jit__generation(n->jit, j->owner.tgid);
	return true;
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

/* Waits until there is something to do, and for what comes along with it. The lock is held. */
static void wait_for_work(struct namer *n)
{
	struct symbolizer *s = n->symbolizer;

	s->asleep = true;
	bell__wait(&s->changed, &s->lock,
		   n->parked.first ? monotonic__ns() + RETRY_NS : UINT64_MAX);
	s->asleep = false;
	if (s->stop || !s->todo.first)
		return;
	pthread_mutex_unlock(&s->lock);
	nanosleep(&(struct timespec){ .tv_nsec = TOGETHER_NS }, NULL);
	pthread_mutex_lock(&s->lock);
}

static void finish(struct symbolizer *s, struct stack_job *j)
{
	queue__put(&s->done, j);
	bell__ring(&s->changed);
}

/* The lock is held, but while the stack is looked at. */
static void try_jit(struct namer *n, struct stack_job *j)
{
	struct symbolizer *s = n->symbolizer;
	bool named;

	n->in_hand = j;
	pthread_mutex_unlock(&s->lock);
	named = name_jit_frames(n, j);
	pthread_mutex_lock(&s->lock);
	n->in_hand = NULL;
	if (n->left_behind)
		return;
	if (named) {
		finish(s, j);
		return;
	}
	queue__put(&n->parked, j);
	s->parked_cnt++;
}

/* Each of those that wait is tried once; the thread that submits may take all of them meanwhile. */
static void retry_parked(struct namer *n)
{
	struct symbolizer *s = n->symbolizer;
	size_t cnt = s->parked_cnt;

	if (!cnt)
		return;
	pthread_mutex_unlock(&s->lock);
	jobs__collect(n->jobs);
	pthread_mutex_lock(&s->lock);
	while (cnt-- > 0 && !n->left_behind) {
		struct stack_job *j = queue__take(&n->parked);

		if (!j)
			return;
		s->parked_cnt--;
		try_jit(n, j);
	}
}

static void do_next(struct namer *n)
{
	struct symbolizer *s = n->symbolizer;
	struct stack_job *j = queue__take(&s->todo);

	s->todo_frames -= j->cnt;
	n->in_hand = j;
	pthread_mutex_unlock(&s->lock);
	j->since_ns = monotonic__ns();
	name_files(n, j);
	pthread_mutex_lock(&s->lock);
	if (!n->left_behind)
		try_jit(n, j);
}

static void *run(void *arg)
{
	struct namer *n = arg;
	struct symbolizer *s = n->symbolizer;

	priority__ordinary();
	n->jobs = jobs__new(); /* threads of this one's priority */
	pthread_mutex_lock(&s->lock);
	n->tid = thread__tid();
	while (!n->left_behind && !s->stop) {
		uint64_t tried_ns = monotonic__ns();

		while (s->todo.first && !n->left_behind &&
		       (!n->parked.first || monotonic__ns() - tried_ns < RETRY_NS))
			do_next(n);
		retry_parked(n);
		if (!s->todo.first && !n->left_behind && !s->stop)
			wait_for_work(n);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static struct namer *namer__new(struct symbolizer *s)
{
	struct namer *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return NULL;
	n->symbolizer = s;
	n->jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	err = thread__start(&n->thread, run, n);
	if (!err)
		return n;
	jit__free(n->jit);
	free(n);
	return errno = err, NULL;
}

struct symbolizer *symbolizer__new(void)
{
	struct symbolizer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	priority__init_lock(&s->lock);
	priority__init_lock(&s->files);
	s->namer = namer__new(s);
	if (s->namer)
		return s;
	symbolizer__free(s);
	return NULL;
}

/* ---- the thread that submits --------------------------------------------------------------------
 */

static void stop(struct symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	bell__ring(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!s->namer)
		return;
	pthread_join(s->namer->thread, NULL);
	jobs__free(s->namer->jobs);
	jit__free(s->namer->jit);
	free(s->namer);
}

void symbolizer__free(struct symbolizer *s)
{
	struct stack_job *j;

	if (!s)
		return;
	symbolizer__wait(s, &(struct symbolizer_patience){ END_NS, END_NS });
	stop(s);
	while ((j = queue__take(&s->done)) != NULL)
		stack_job__free(j);
	if (s->hung_cnt) /* threads that hang have it */
		return;
	pthread_mutex_destroy(&s->files);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool symbolizer__submit(struct symbolizer *s, struct stack_job *j)
{
	uint64_t until_ns = monotonic__ns() + FULL_NS;
	bool room;

	pthread_mutex_lock(&s->lock);
	while (s->namer && s->todo_frames > WAITING_FRAMES_MAX && monotonic__ns() < until_ns)
		bell__wait(&s->changed, &s->lock, until_ns);
	room = s->namer && s->todo_frames <= WAITING_FRAMES_MAX;
	if (room) {
		s->pending++;
		s->todo_frames += j->cnt;
		queue__put(&s->todo, j);
		if (s->asleep)
			bell__ring(&s->changed);
		s->asleep = false;
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}

struct stack_job *symbolizer__take(struct symbolizer *s)
{
	struct stack_job *j;

	if (!s->pending)
		return NULL;
	pthread_mutex_lock(&s->lock);
	j = queue__take(&s->done);
	pthread_mutex_unlock(&s->lock);
	if (j)
		s->pending--;
	return j;
}

size_t symbolizer__pending(const struct symbolizer *s)
{
	return s->pending;
}

/* All stacks of the queue without names. */
static void give_up(struct symbolizer *s, struct queue *q)
{
	struct stack_job *j;

	while ((j = queue__take(q)) != NULL) {
		for (size_t i = 0; i < j->cnt; i++)
			if (!j->frames[i].jit_name)
				j->frames[i].symbol.name = NULL;
		j->gave_up = true;
		finish(s, j);
	}
}

/* Returns a copy of what a thread has in hand, without names and references, or NULL. */
static struct stack_job *nameless_copy(struct stack_job *j)
{
	struct stack_job *copy = malloc(sizeof(*copy) + j->cnt * sizeof(*copy->frames));

	if (!copy)
		return NULL;
	*copy = (struct stack_job){ .stack_id = j->stack_id, .owner = j->owner, .cnt = j->cnt };
	for (size_t i = 0; i < j->cnt; i++)
		copy->frames[i] = (struct stack_frame){ .row = j->frames[i].row };
	copy->gave_up = true;
	return copy;
}

static uint64_t cpu_ns(pthread_t thread)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) == 0)
		clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Its references to files stay, so that they outlive the thread. The lock is held. */
static void leave_behind(struct symbolizer *s)
{
	struct namer *n = s->namer;
	struct stack_job *copy = n->in_hand ? nameless_copy(n->in_hand) : NULL;

	pthread_mutex_lock(&s->files);
	n->left_behind = true;
	s->hung[s->hung_cnt++] = s->in_hand[WORKER];
	give_back(s, WORKER);
	pthread_mutex_unlock(&s->files);
	if (copy)
		finish(s, copy);
	else
		s->pending--;
	pthread_detach(n->thread);
	s->namer = s->hung_cnt < HUNG_MAX ? namer__new(s) : NULL;
}

static bool is_idle(const struct symbolizer *s)
{
	return !s->todo.first && !s->parked_cnt && !(s->namer && s->namer->in_hand);
}

/* The stack that a busy thread has in hand is given back by it, for what it learns; its row is
 * written now. */
static void give_up_in_hand(struct symbolizer *s)
{
	struct stack_job *j = s->namer->in_hand, *copy = j ? nameless_copy(j) : NULL;

	if (!copy)
		return;
	j->stack_id = 0;
	s->pending++;
	finish(s, copy);
}

/* Waits for all; while the thread works, which it does not where it waits for a file, for longer.
 * The lock is held. */
static bool wait_for_all(struct symbolizer *s, const struct symbolizer_patience *p, bool *hangs)
{
	uint64_t began_ns = monotonic__ns(), from_ns = began_ns, used_ns, before_ns;

	before_ns = cpu_ns(s->namer->thread);
	*hangs = false;
	while (!is_idle(s)) {
		uint64_t now_ns = monotonic__ns();

		if (now_ns < from_ns + p->still_ns) {
			bell__wait(&s->changed, &s->lock, from_ns + p->still_ns);
			continue;
		}
		used_ns = cpu_ns(s->namer->thread);
		*hangs = used_ns - before_ns < STILL_CPU_NS;
		if (*hangs || now_ns >= began_ns + p->busy_ns)
			return false;
		before_ns = used_ns;
		from_ns = now_ns;
	}
	return true;
}

bool symbolizer__wait(struct symbolizer *s, const struct symbolizer_patience *p)
{
	bool all, hangs;

	if (!s->namer)
		return s->pending == 0;
	pthread_mutex_lock(&s->lock);
	priority__lend(s->namer->tid);
	all = wait_for_all(s, p, &hangs);
	if (!all) {
		s->todo_frames = 0;
		give_up(s, &s->todo);
		give_up(s, &s->namer->parked);
		s->parked_cnt = 0;
	}
	if (!all && s->namer->in_hand && hangs)
		leave_behind(s);
	else if (!all && s->namer->in_hand)
		give_up_in_hand(s);
	pthread_mutex_unlock(&s->lock);
	return all;
}

void stack_job__free(struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++) {
		elf_file__put(j->frames[i].file);
		free(j->frames[i].jit_name);
	}
	free(j);
}
