// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacks/symbolizer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/priority.h"
#include "base/thread.h"
#include "symbol/demangle.h"
#include "jit/jit.h"

#define WAITING_FRAMES_MAX (1u << 20) /* some 100 MB */
#define TOGETHER_NS	   1000000    /* stacks come in drains: the thread is woken once for each */

struct queue {
	struct stack_job *first, **last;
};

enum { WORKER, ASKER, THREAD_CNT };

struct symbolizer {
	pthread_t thread;
	pid_t tid;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	struct bell changed;
	struct queue todo, done;
	size_t todo_frames;
	bool asleep, busy, stop;
	size_t pending;	       /* of the submitting thread */
	pthread_mutex_t files; /* of what follows */
	struct bell given_back;
	const struct elf_file *in_hand[THREAD_CNT]; /* whose symbol table each looks into */
	struct jit *jit;			    /* of the thread; NULL: no such names */
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

/* A file's table is for one thread at a time. Who asks waits for no other file: its table may take
 * a second, and rings fill meanwhile. */
static void claim(struct symbolizer *s, const struct elf_file *f, int who)
{
	pthread_mutex_lock(&s->files);
	while (s->in_hand[!who] == f)
		bell__wait(&s->given_back, &s->files, UINT64_MAX);
	s->in_hand[who] = f;
	pthread_mutex_unlock(&s->files);
}

static void give_back(struct symbolizer *s, int who)
{
	pthread_mutex_lock(&s->files);
	s->in_hand[who] = NULL;
	bell__ring(&s->given_back);
	pthread_mutex_unlock(&s->files);
}

static bool try_claim(struct symbolizer *s, const struct elf_file *f)
{
	bool is_free;

	pthread_mutex_lock(&s->files);
	is_free = s->in_hand[WORKER] != f;
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
	give_back(s, ASKER);
	return err;
}

static void name_frame(struct symbolizer *s, struct stack_frame *f)
{
	f->symbol.name = NULL;
	if (!f->file)
		return;
	claim(s, f->file, WORKER);
	if (!elf_file__symbol(f->file, f->vaddr, &f->symbol))
		f->symbol.name = NULL;
	give_back(s, WORKER);
}

static void name_jit_frame(struct symbolizer *s, struct stack_job *j, struct stack_frame *f)
{
	const struct jit_place place = { j->owner.tgid, f->vaddr, j->owner.time_ns };
	char readable[SYMBOL_NAME_MAX];
	struct jit_symbol symbol;

	if (!s->jit || !jit__symbol(s->jit, &place, &symbol))
		return;
	symbol_name(symbol.name, readable);
	f->jit_name = strdup(readable);
	f->symbol = (struct symbol){ .name = f->jit_name, .address = symbol.start };
}

static void resolve(struct symbolizer *s, struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++) {
		name_frame(s, &j->frames[i]);
		if (!j->frames[i].jit)
			continue;
		name_jit_frame(s, j, &j->frames[i]);
		j->has_jit = true;
	}
	if (j->has_jit && s->jit)
		j->jit_generation = jit__generation(s->jit, j->owner.tgid);
}

/* Until there is something to do, and what comes along with it. The lock is held. */
static void wait_for_work(struct symbolizer *s)
{
	s->asleep = true;
	bell__wait(&s->changed, &s->lock, UINT64_MAX);
	s->asleep = false;
	if (s->stop || !s->todo.first)
		return;
	pthread_mutex_unlock(&s->lock);
	nanosleep(&(struct timespec){ .tv_nsec = TOGETHER_NS }, NULL);
	pthread_mutex_lock(&s->lock);
}

static void *run(void *arg)
{
	struct symbolizer *s = arg;

	priority__ordinary();
	pthread_mutex_lock(&s->lock);
	s->tid = thread__tid();
	while (!s->stop || s->todo.first) {
		struct stack_job *j = queue__take(&s->todo);

		if (!j) {
			wait_for_work(s);
			continue;
		}
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		resolve(s, j);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		s->todo_frames -= j->cnt;
		queue__put(&s->done, j);
		bell__ring(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct symbolizer *symbolizer__new(void)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	priority__init_lock(&s->lock);
	priority__init_lock(&s->files);
	s->jit = jit__new(&(struct jit_places){ .proc = "/proc" });
	err = pthread_create(&s->thread, NULL, run, s);
	s->running = !err;
	if (!err)
		return s;
	symbolizer__free(s);
	return errno = err, NULL;
}

void symbolizer__free(struct symbolizer *s)
{
	struct stack_job *j;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	bell__ring(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->running)
		pthread_join(s->thread, NULL);
	while ((j = queue__take(&s->done)) != NULL)
		stack_job__free(j);
	jit__free(s->jit);
	pthread_mutex_destroy(&s->files);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void symbolizer__submit(struct symbolizer *s, struct stack_job *j)
{
	s->pending++;
	pthread_mutex_lock(&s->lock);
	while (s->todo_frames > WAITING_FRAMES_MAX)
		bell__wait(&s->changed, &s->lock, UINT64_MAX);
	s->todo_frames += j->cnt;
	queue__put(&s->todo, j);
	if (s->asleep)
		bell__ring(&s->changed);
	s->asleep = false;
	pthread_mutex_unlock(&s->lock);
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

void symbolizer__wait(struct symbolizer *s)
{
	pthread_mutex_lock(&s->lock);
	priority__lend(s->tid);
	while (s->todo.first || s->busy)
		bell__wait(&s->changed, &s->lock, UINT64_MAX);
	pthread_mutex_unlock(&s->lock);
}

void stack_job__free(struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++) {
		elf_file__put(j->frames[i].file);
		free(j->frames[i].jit_name);
	}
	free(j);
}
