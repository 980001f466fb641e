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
#include "stacks/mangled.h"
#include "stacks/stackqueue.h"

#define WAITING_FRAMES_MAX (1u << 20) /* some 100 MB */
#define HAND_MAX	   64	      /* stacks that are named together */
#define TOGETHER_NS	   1000000 /* stacks arrive in bursts: the thread is woken once for each burst */

#define FULL_NS	  1000000000 /* longest wait for room */
#define TABLES_NS 5000000000 /* longest wait of a stack for symbol tables */
#define JIT_NS	  1000000000 /* … then for the names that its process publishes */
#define RETRY_NS  2000000
#define PASS_NS	  100000000 /* interval of tries of all parked stacks, if nothing was read */
#define END_NS	  500000000
/* Longest wait of mangled names for others, so that one request has many. Only the end of a batch
 * needs them. */
#define GROUP_NS 500000000

/* The thread that finds names. It reads no file itself; jobs do. */
struct symbolizer {
	pthread_t thread;
	pid_t tid;	   /* 0: it has not started */
	struct jit *jit;   /* NULL: no names of JIT code */
	struct jobs *jobs; /* they read symbol tables, and the names that processes publish */
	struct mangled_names mangled;
	pthread_mutex_t lock; /* protects the fields below */
	struct bell changed;
	struct stack_queue todo, done;
	struct stack_queue parked;	  /* stacks that wait for jobs */
	struct stack_queue grouped;	  /* stacks that lack only the readable form of names */
	struct stack_job *hand[HAND_MAX]; /* stacks that are being named, together */
	size_t hand_cnt;
	size_t todo_frames, parked_cnt, grouped_cnt;
	uint64_t grouped_ns; /* the time until which the first of these waits */
	bool hurry;	     /* symbolizer__wait() is in progress */
	uint64_t passed_ns;  /* time of the last try of all parked stacks */
	bool asleep, stop;
	size_t pending, sz;    /* private to the submitting thread; sz: bytes of these jobs */
	pthread_mutex_t names; /* protects the readable names in symbol tables */
};

static size_t stack_job__sz(const struct stack_job *j)
{
	return sizeof(*j) + j->cnt * sizeof(*j->frames);
}

int symbolizer__symbol(struct symbolizer *s, struct elf_file *f, uint64_t vaddr,
		       struct symbol *symbol)
{
	int err;

	pthread_mutex_lock(&s->names);
	err = elf_file__known_symbol(f, vaddr, symbol);
	pthread_mutex_unlock(&s->names);
	return err;
}

bool symbolizer__lines(struct symbolizer *s, const struct elf_file *f, uint64_t vaddr,
		       struct code_lines *lines)
{
	bool found;

	pthread_mutex_lock(&s->names);
	found = elf_file__code_lines(f, vaddr, lines);
	pthread_mutex_unlock(&s->names);
	return found;
}

/* Returns false while the file's symbols are being read. */
static bool symbolizer_name_frame(struct symbolizer *s, struct stack_frame *f)
{
	enum symbol_answer answer;

	pthread_mutex_lock(&s->names);
	answer = elf_file__symbol_now(f->file, f->vaddr, s->jobs, &f->symbol);
	pthread_mutex_unlock(&s->names);
	f->asked = answer != SYMBOL_READS;
	f->mangled = answer == SYMBOL_MANGLED;
	return f->asked;
}

/* Returns false while files of the process are being read. */
static bool symbolizer_name_jit_frame(struct symbolizer *s, struct stack_job *j,
				      struct stack_frame *f)
{
	const struct jit_place place = { j->owner.tgid, f->vaddr, j->owner.time_ns };
	char readable[SYMBOL_NAME_MAX];
	enum jit_answer answer;
	struct jit_symbol symbol;

	j->has_jit = true;
	if (f->jit_name || !s->jit)
		return true;
	answer = jit__name(s->jit, &place, s->jobs, &symbol);
	if (answer != JIT_NAMED)
		return answer == JIT_NONE;
	mangled_names__of_process(&s->mangled, j->owner.tgid, symbol.name, readable);
	f->jit_name = strdup(readable);
	f->symbol = (struct symbol){ .name = f->jit_name, .address = symbol.start };
	return true;
}

/* Returns false while files are being read, at most until the time is over. */
static bool symbolizer_is_settled(struct stack_job *j, bool all, uint64_t patience_ns)
{
	j->gave_up |= !all && monotonic__ns() - j->since_ns >= patience_ns;
	return all || j->gave_up;
}

static void symbolizer_name_files(struct symbolizer *s, struct stack_job *j)
{
	bool all = true;

	for (size_t i = 0; i < j->cnt && !j->files_done; i++)
		if (j->frames[i].file && !j->frames[i].asked)
			all &= symbolizer_name_frame(s, &j->frames[i]);
	if (!j->files_done && symbolizer_is_settled(j, all, TABLES_NS)) {
		j->files_done = true;
		j->since_ns = monotonic__ns();
	}
}

static bool symbolizer_name_jit_frames(struct symbolizer *s, struct stack_job *j)
{
	bool all = true;

	for (size_t i = 0; i < j->cnt; i++)
		if (j->frames[i].jit)
			all &= symbolizer_name_jit_frame(s, j, &j->frames[i]);
	if (!symbolizer_is_settled(j, all, JIT_NS))
		return false;
	if (j->has_jit && s->jit)
		j->jit_generation = jit__generation(s->jit, j->owner.tgid);
	return true;
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

/* Waits for work, and a moment longer for work that comes along with it. Must hold the lock. */
static void symbolizer_wait_for_work(struct symbolizer *s)
{
	uint64_t until_ns = s->grouped_cnt ? s->grouped_ns : UINT64_MAX;

	s->asleep = true;
	bell__wait(&s->changed, &s->lock, s->parked.first ? monotonic__ns() + RETRY_NS : until_ns);
	s->asleep = false;
	if (s->stop || !s->todo.first)
		return;
	pthread_mutex_unlock(&s->lock);
	nanosleep(&(struct timespec){ .tv_nsec = TOGETHER_NS }, NULL);
	pthread_mutex_lock(&s->lock);
}

static void symbolizer_finish(struct symbolizer *s, struct stack_job *j)
{
	stack_queue__put(&s->done, j);
	bell__ring(&s->changed);
}

/* Keeps a stack that lacks only readable names until they are requested for a group of stacks. Must
 * hold the lock. */
static void symbolizer__group(struct symbolizer *s, struct stack_job *j)
{
	if (!s->grouped_cnt++)
		s->grouped_ns = monotonic__ns() + GROUP_NS;
	stack_queue__put(&s->grouped, j);
}

/* Must hold the lock. */
static bool symbolizer_group_is_due(const struct symbolizer *s)
{
	return s->grouped_cnt >= HAND_MAX ||
	       (s->grouped_cnt && (s->hurry || monotonic__ns() >= s->grouped_ns));
}

/* Finishes the grouped stacks that are due. Must hold the lock; releases it meanwhile. */
static void symbolizer_finish_grouped(struct symbolizer *s)
{
	while (symbolizer_group_is_due(s)) {
		for (; s->grouped_cnt && s->hand_cnt < HAND_MAX; s->grouped_cnt--)
			s->hand[s->hand_cnt++] = stack_queue__take(&s->grouped);
		pthread_mutex_unlock(&s->lock);
		mangled_names__of_files(&s->mangled, s->hand, s->hand_cnt);
		pthread_mutex_lock(&s->lock);
		for (size_t i = 0; i < s->hand_cnt; i++)
			symbolizer_finish(s, s->hand[i]);
		s->hand_cnt = 0;
	}
}

/* Finishes, groups or parks the stacks in hand. Tries files first, because the names that a process
 * publishes may take longer. Must hold the lock; releases it while it looks names up. */
static void symbolizer_try_names(struct symbolizer *s)
{
	bool named[HAND_MAX];

	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->hand_cnt; i++)
		symbolizer_name_files(s, s->hand[i]);
	for (size_t i = 0; i < s->hand_cnt; i++)
		named[i] = s->hand[i]->files_done && symbolizer_name_jit_frames(s, s->hand[i]);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->hand_cnt; i++) {
		if (!named[i]) {
			stack_queue__put(&s->parked, s->hand[i]);
			s->parked_cnt++;
		} else {
			(mangled_names__has_any(s->hand[i]) ? symbolizer__group
							    : symbolizer_finish)(s, s->hand[i]);
		}
	}
	s->hand_cnt = 0;
}

/* Tries each parked stack once, if jobs have finished or some time has passed. The submitting
 * thread may take all of them meanwhile. */
static void symbolizer_retry_parked(struct symbolizer *s)
{
	uint64_t now_ns = monotonic__ns();
	size_t cnt = s->parked_cnt, news;

	if (!cnt)
		return;
	pthread_mutex_unlock(&s->lock);
	news = jobs__collect(s->jobs);
	pthread_mutex_lock(&s->lock);
	if (!news && now_ns - s->passed_ns < PASS_NS)
		return;
	s->passed_ns = now_ns;
	while (cnt > 0 && s->parked.first) {
		for (; cnt > 0 && s->parked.first && s->hand_cnt < HAND_MAX; cnt--) {
			s->hand[s->hand_cnt++] = stack_queue__take(&s->parked);
			s->parked_cnt--;
		}
		symbolizer_try_names(s);
	}
}

/* Names the next stacks. Those of a burst have most names in common. */
static void symbolizer_do_next(struct symbolizer *s)
{
	while (s->todo.first && s->hand_cnt < HAND_MAX) {
		struct stack_job *j = stack_queue__take(&s->todo);

		s->todo_frames -= j->cnt;
		j->since_ns = monotonic__ns();
		s->hand[s->hand_cnt++] = j;
	}
	symbolizer_try_names(s);
}

static void *symbolizer_run(void *arg)
{
	struct symbolizer *s = arg;

	pthread_mutex_lock(&s->lock);
	s->tid = thread__tid();
	while (!s->stop) {
		uint64_t tried_ns = monotonic__ns();

		while (s->todo.first && (!s->parked.first || monotonic__ns() - tried_ns < RETRY_NS))
			symbolizer_do_next(s);
		symbolizer_retry_parked(s);
		symbolizer_finish_grouped(s);
		if (!s->todo.first && !s->stop)
			symbolizer_wait_for_work(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Creates the jobs, so that their threads get this thread's priority, and starts the name thread.
 */
static void *symbolizer_start(void *arg)
{
	struct symbolizer *s = arg;

	priority__ordinary();
	s->jobs = jobs__new();
	if (s->jobs) {
		jobs__set_workers(s->jobs, s->mangled.workers);
		return symbolizer_run(s);
	}
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct symbolizer *symbolizer__new(struct jit *jit, struct workers *workers)
{
	struct symbolizer *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return NULL;
	priority__init_lock(&s->lock);
	priority__init_lock(&s->names);
	s->jit = jit;
	s->mangled.workers = workers;
	s->mangled.lock = &s->names;
	err = thread__start(&s->thread, symbolizer_start, s);
	if (!err)
		return s;
	free(s);
	return errno = err, NULL;
}

/* ---- the thread that submits --------------------------------------------------------------------
 */

/* The thread may have put back stacks that it had in hand when symbolizer__wait() gave up. */
void symbolizer__free(struct symbolizer *s)
{
	if (!s)
		return;
	symbolizer__wait(s, END_NS);
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	bell__ring(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	jobs__free(s->jobs);
	stack_queue__clear(&s->todo);
	stack_queue__clear(&s->parked);
	stack_queue__clear(&s->grouped);
	stack_queue__clear(&s->done);
	pthread_mutex_destroy(&s->names);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

bool symbolizer__submit(struct symbolizer *s, struct stack_job *j)
{
	uint64_t until_ns = monotonic__ns() + FULL_NS;
	bool room;

	for (size_t i = 0; i < j->cnt; i++)
		j->frames[i].symbol.name = NULL;
	pthread_mutex_lock(&s->lock);
	while (s->todo_frames > WAITING_FRAMES_MAX && monotonic__ns() < until_ns)
		bell__wait(&s->changed, &s->lock, until_ns);
	room = !s->stop && s->todo_frames <= WAITING_FRAMES_MAX;
	if (room) {
		s->pending++;
		s->sz += stack_job__sz(j);
		s->todo_frames += j->cnt;
		stack_queue__put(&s->todo, j);
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
	j = stack_queue__take(&s->done);
	pthread_mutex_unlock(&s->lock);
	if (j) {
		s->pending--;
		s->sz -= stack_job__sz(j);
	}
	return j;
}

size_t symbolizer__pending(const struct symbolizer *s)
{
	return s->pending;
}

size_t symbolizer__sz(const struct symbolizer *s)
{
	return s->sz;
}

/* Finishes all stacks of the queue with the names found so far. */
static void symbolizer_give_up(struct symbolizer *s, struct stack_queue *q)
{
	struct stack_job *j;

	while ((j = stack_queue__take(q)) != NULL) {
		j->gave_up = true;
		symbolizer_finish(s, j);
	}
}

/* Returns a copy of the stack, without names and references, or NULL. */
static struct stack_job *symbolizer_nameless_copy(struct stack_job *j)
{
	struct stack_job *copy = malloc(stack_job__sz(j));

	if (!copy)
		return NULL;
	*copy = (struct stack_job){ .stack_id = j->stack_id, .owner = j->owner, .cnt = j->cnt };
	for (size_t i = 0; i < j->cnt; i++)
		copy->frames[i] = (struct stack_frame){ .row = j->frames[i].row };
	copy->gave_up = true;
	return copy;
}

static bool symbolizer_is_idle(const struct symbolizer *s)
{
	return !s->todo.first && !s->parked_cnt && !s->grouped_cnt && !s->hand_cnt;
}

/* Returns nameless copies of the stacks that the name thread has in hand. That thread later returns
 * the stacks themselves, without an ID, for what it learns. */
static void symbolizer_give_up_in_hand(struct symbolizer *s)
{
	for (size_t i = 0; i < s->hand_cnt; i++) {
		struct stack_job *copy = symbolizer_nameless_copy(s->hand[i]);

		if (!copy)
			continue;
		s->hand[i]->stack_id = 0;
		s->pending++;
		s->sz += stack_job__sz(copy);
		symbolizer_finish(s, copy);
	}
}

bool symbolizer__wait(struct symbolizer *s, uint64_t patience_ns)
{
	uint64_t until_ns = monotonic__ns() + patience_ns;
	bool all;

	pthread_mutex_lock(&s->lock);
	priority__lend(s->tid);
	if (s->tid)
		jobs__lend(s->jobs);
	s->hurry = true;
	if (s->grouped_cnt)
		bell__ring(&s->changed);
	while (!symbolizer_is_idle(s) && monotonic__ns() < until_ns)
		bell__wait(&s->changed, &s->lock, until_ns);
	all = symbolizer_is_idle(s);
	if (!all) {
		s->todo_frames = 0;
		symbolizer_give_up(s, &s->todo);
		symbolizer_give_up(s, &s->parked);
		symbolizer_give_up(s, &s->grouped);
		s->parked_cnt = s->grouped_cnt = 0;
		symbolizer_give_up_in_hand(s);
	}
	s->hurry = false;
	pthread_mutex_unlock(&s->lock);
	return all;
}

void stack_job__free(struct stack_job *j)
{
	for (size_t i = 0; i < j->cnt; i++) {
		stack_frame__release_file(&j->frames[i]);
		free(j->frames[i].jit_name);
	}
	free(j);
}
