// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/symbolizer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/priority.h"

#define WAITING_FRAMES_MAX (1u << 20) /* some 100 MB */

struct queue {
	struct stack_job *first, **last;
};

enum { WORKER, ASKER, THREAD_CNT };

struct symbolizer {
	pthread_t thread;
	pid_t tid;
	bool running;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct queue todo, done;
	size_t todo_frames;
	bool busy, stop;
	size_t pending;	       /* of the submitting thread */
	pthread_mutex_t files; /* of what follows */
	pthread_cond_t given_back;
	const struct elf_file *in_hand[THREAD_CNT]; /* whose symbol table each looks into */
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
	while (s->in_hand[!who] == f) {
		if (who == ASKER)
			priority__lend(s->tid);
		pthread_cond_wait(&s->given_back, &s->files);
	}
	s->in_hand[who] = f;
	pthread_mutex_unlock(&s->files);
}

static void give_back(struct symbolizer *s, int who)
{
	pthread_mutex_lock(&s->files);
	s->in_hand[who] = NULL;
	pthread_cond_signal(&s->given_back);
	pthread_mutex_unlock(&s->files);
}

bool symbolizer__symbol(struct symbolizer *s, struct elf_file *f, uint64_t vaddr,
			struct symbol *symbol)
{
	bool found;

	claim(s, f, ASKER);
	found = elf_file__symbol(f, vaddr, symbol);
	give_back(s, ASKER);
	return found;
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

static void resolve(struct symbolizer *s, struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		name_frame(s, &j->frames[i]);
}

static void *run(void *arg)
{
	struct symbolizer *s = arg;

	priority__ordinary();
	pthread_mutex_lock(&s->lock);
	s->tid = gettid();
	while (!s->stop || s->todo.first) {
		struct stack_job *j = queue__take(&s->todo);

		if (!j) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		resolve(s, j);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		s->todo_frames -= j->cnt;
		queue__put(&s->done, j);
		pthread_cond_broadcast(&s->changed);
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
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->files, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_cond_init(&s->given_back, NULL);
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
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->running)
		pthread_join(s->thread, NULL);
	while ((j = queue__take(&s->done)) != NULL)
		stack_job__free(j);
	pthread_cond_destroy(&s->changed);
	pthread_cond_destroy(&s->given_back);
	pthread_mutex_destroy(&s->files);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void symbolizer__submit(struct symbolizer *s, struct stack_job *j)
{
	s->pending++;
	pthread_mutex_lock(&s->lock);
	while (s->todo_frames > WAITING_FRAMES_MAX)
		pthread_cond_wait(&s->changed, &s->lock);
	s->todo_frames += j->cnt;
	queue__put(&s->todo, j);
	pthread_cond_broadcast(&s->changed);
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
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void stack_job__free(struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		elf_file__put(j->frames[i].file);
	free(j);
}
