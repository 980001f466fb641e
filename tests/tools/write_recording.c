// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a recording as the collector would, for tests of the files and for measurements.
 *
 * write_recording DIR [OPTION=VALUE]…     rows from stdin, see script()
 * write_recording DIR generate=N …        N rows by the formulas in generate(), which tests repeat
 * in SQL write_recording DIR bench=N …           N rows of a realistic mix; prints what a row costs
 * Options: rows, groups, batch_ns, compression, append, root (DIR "-": the next number below it),
 * uid, gid; of bench also stacks (how many there can be), processes (short ones, one after
 * another), every (one row of N is a sample)
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "store/columns.h"
#include "store/recording.h"

struct args {
	struct recording_options o;
	uint64_t generate, bench;
	struct shape {
		uint64_t stacks, processes, every;
	} shape;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void die(const char *what, int err)
{
	log__error("%s: %s", what, strerror(-err));
	exit(1);
}

/* ---- rows from a script --------------------------------------------------------------------- */

/* Interns the bytes of hex digits. */
static uint32_t intern(struct recording *r, const char *hex, bool binary)
{
	struct buf bytes = { 0 };
	uint32_t id;

	for (; isxdigit((unsigned char)hex[0]) && hex[1]; hex += 2) {
		char digits[3] = { hex[0], hex[1], '\0' };

		buf__u8(&bytes, (uint8_t)strtoul(digits, NULL, 16));
	}
	id = binary ? recording__bytes(r, bytes.data, bytes.sz)
		    : recording__string(r, (const char *)bytes.data, bytes.sz);
	buf__free(&bytes);
	return id;
}

static void set(struct recording *r, struct row *row, char *assignment)
{
	const struct column *c = events_table.columns;
	char *value = strchr(assignment, '=');
	void *field;

	if (!value)
		die(assignment, -EINVAL);
	*value++ = '\0';
	while (strcmp(c->name, assignment) != 0)
		if (++c == events_table.columns + events_table.column_cnt)
			die(assignment, -EINVAL);
	field = (char *)row + c->off;
	row->present |= c->present;
	if (column__is_bytes(c))
		*(uint32_t *)field = intern(r, value, c->type == COLUMN_BINARY);
	else if (c->type == COLUMN_INT32)
		*(int32_t *)field = (int32_t)strtol(value, NULL, 10);
	else if (*value == '-')
		*(int64_t *)field = strtoll(value, NULL, 10);
	else
		*(uint64_t *)field = strtoull(value, NULL, 10);
}

static int add_row(struct recording *r, char *words)
{
	struct row row = { 0 };
	char *save, *word;

	for (word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		set(r, &row, word);
	return recording__add(r, &row);
}

/* name:module:build_id:address:offset:file_offset, strings in hex, - for none */
static struct row_frame parse_frame(struct recording *r, char *word)
{
	struct row_frame f = { 0 };
	char *fields[6] = { NULL }, *save;

	for (int i = 0; i < 6; i++, word = NULL)
		if (!(fields[i] = strtok_r(word, ":", &save)))
			die("frame", -EINVAL);
	f.name = intern(r, *fields[0] == '-' ? "" : fields[0], false);
	f.module = intern(r, *fields[1] == '-' ? "" : fields[1], false);
	f.build_id = intern(r, *fields[2] == '-' ? "" : fields[2], false);
	f.address = strtoull(fields[3], NULL, 10);
	f.offset = strtoull(fields[4], NULL, 10);
	f.has_file_offset = *fields[5] != '-';
	f.file_offset = f.has_file_offset ? strtoull(fields[5], NULL, 10) : 0;
	return f;
}

static int add_stack(struct recording *r, char *words)
{
	static struct row_frame frames[RECORDING_FRAMES_MAX + 1];
	char *save, *word = strtok_r(words, " ", &save);
	uint64_t id = strtoull(word, NULL, 10);
	size_t cnt = 0;

	while ((word = strtok_r(NULL, " ", &save)) != NULL && cnt <= RECORDING_FRAMES_MAX)
		frames[cnt++] = parse_frame(r, word);
	return recording__has_stack(r, id) ? 0 : recording__add_stack(r, id, frames, cnt);
}

static int tick(struct recording *r, char *words)
{
	return recording__tick(r, strtoull(words, NULL, 10));
}

/* Waits until that many batches are complete. */
static int await(struct recording *r, char *words)
{
	struct recording_stats stats = { 0 };

	while (stats.batches < strtoull(words, NULL, 10)) {
		int err = recording__tick(r, 1);

		if (err)
			return err;
		usleep(1000);
		recording__stats(r, &stats);
	}
	return 0;
}

static int kill_self(struct recording *r, char *words)
{
	(void)r;
	(void)words;
	return raise(SIGKILL);
}

static const struct command {
	const char *name;
	int (*run)(struct recording *, char *words);
} commands[] = {
	{ "row", add_row }, { "stack", add_stack }, { "tick", tick },
	{ "await", await }, { "kill", kill_self },
};

static int run_line(struct recording *r, char *line)
{
	size_t len = strcspn(line, " \n");

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strlen(commands[i].name) == len && strncmp(line, commands[i].name, len) == 0)
			return commands[i].run(r, line + len + (line[len] == ' '));
	return -EINVAL;
}

/* One command a line: row COLUMN=VALUE…, stack ID FRAME…, tick NS, await BATCHES, kill. Numbers are
 * decimal, strings hex. */
static int script(struct recording *r)
{
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	while (!err && getline(&line, &cap, stdin) > 0)
		err = run_line(r, line);
	free(line);
	return err;
}

/* ---- rows by formula ------------------------------------------------------------------------ */

/* Interns prefix, number, suffix. */
static uint32_t numbered(struct recording *r, const char *prefix, uint64_t n, const char *suffix)
{
	char text[64];
	int sz = snprintf(text, sizeof(text), "%s%" PRIu64 "%s", prefix, n, suffix);

	return recording__string(r, text, (size_t)sz);
}

/* Times vary by up to 1000 rows; each column has its own period. */
static int generate(struct recording *r, uint64_t cnt)
{
	int err = 0;

	for (uint64_t i = 0; i < cnt && !err; i++) {
		struct row row = {
			.timestamp = 1700000000000000000 + (int64_t)(i + i * 7919 % 1000) * 1000,
			.duration = (int64_t)(i * i % 1000003),
			.span_id = i * 0x9e3779b97f4a7c15,
			.amount = (int64_t)i * (i % 2 ? -1 : 1),
			.kind = numbered(r, "kind", i % 11, ""),
			.command = numbered(r, "command-", i % 4099, ""),
			.file = i % 3 ? numbered(r, "file ", i, "") : 0,
			.cpu = (int32_t)(i % 64) - 32,
			.tgid = (int32_t)(i / 5000),
			.ustack_id = UINT64_MAX - i % 1009,
			.runnable = (int64_t)(i % 100) - 50,
			.weight = 1,
			.present = (i % 5 ? ROW_USTACK_ID : 0) | (i % 7 ? ROW_RUNNABLE : 0),
		};

		err = recording__add(r, &row);
		if (!err && i % 64 == 0)
			err = recording__tick(r, 1 + i);
	}
	return err;
}

/* ---- rows of a realistic mix ---------------------------------------------------------------- */

struct random {
	uint64_t state;
};

static uint64_t next(struct random *s)
{
	s->state += 0x9e3779b97f4a7c15;
	uint64_t z = s->state;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Small numbers are frequent, large ones rare. */
static uint64_t skewed(struct random *s, uint64_t below)
{
	uint64_t a = next(s) % below, b = next(s) % below;

	return a * b / below * (next(s) % below) / below;
}

#define THREADS	 60
#define COMMANDS 25

struct mix {
	struct shape shape;
	uint64_t row, row_cnt;
	uint32_t generation, kinds[2], states[4], unwind, cgroup, host;
	uint32_t commands[COMMANDS], buildids[COMMANDS], names[1500], modules[30];
};

static void intern_mix(struct recording *r, struct mix *m)
{
	static const char *const states[] = { "sleeping", "preempted", "disk_sleep", "idle" };

	m->generation = recording__generation(r);
	m->kinds[0] = recording__string(r, "switch", 6);
	m->kinds[1] = recording__string(r, "profile", 7);
	m->unwind = recording__string(r, "root", 4);
	m->cgroup = recording__string(r, "/system.slice/postgresql.service", 32);
	m->host = recording__string(r, "db-17.example.com", 17);
	for (size_t i = 0; i < 4; i++)
		m->states[i] = recording__string(r, states[i], strlen(states[i]));
	for (uint64_t i = 0; i < COMMANDS; i++) {
		struct random s = { i };
		uint64_t id[3] = { next(&s), next(&s), next(&s) };

		m->commands[i] = numbered(r, "worker-", i, "");
		m->buildids[i] = recording__bytes(r, id, 20);
	}
	for (uint64_t i = 0; i < 30; i++)
		m->modules[i] = numbered(r, "/usr/lib/x86_64-linux-gnu/libexample", i, ".so");
	for (uint64_t i = 0; i < 1500; i++)
		m->names[i] = numbered(r, "namespace::Some_Class::function_", i * i, "(int)");
}

/* The number of a stack determines its frames, and its frames determine its id. */
static int mix_stack(struct recording *r, const struct mix *m, uint64_t n, uint64_t *id)
{
	struct random s = { n };
	struct row_frame frames[64];
	size_t cnt = 8 + next(&s) % 50;

	*id = next(&s);
	if (recording__has_stack(r, *id))
		return 0;
	for (size_t i = 0; i < cnt; i++) {
		/* Roots are shared, leaves are not. */
		uint64_t name = skewed(&s, 1500) / (1 + i / 4);

		frames[i] = (struct row_frame){
			.name = m->names[name],
			.module = m->modules[name % 30],
			.build_id = m->names[name % 30],
			.has_file_offset = 1,
			.address = 0x1000 + name * 256,
			.offset = name * 7919 % 251,
			.file_offset = 0x1000 + name * 256 + name * 7919 % 251,
		};
	}
	return recording__add_stack(r, *id, frames, cnt);
}

/* One row of four is of the short process of its time, if there are such. */
static uint64_t mix_thread(struct mix *m, struct random *s)
{
	uint64_t thread = skewed(s, THREADS), at = m->row++;

	if (!m->shape.processes || next(s) % 4)
		return thread;
	return THREADS + at * m->shape.processes / m->row_cnt;
}

/* A command has its own stacks, and a user stack few kernel stacks that belong to it. */
static int mix_stacks(struct recording *r, const struct mix *m, struct random *s, struct row *row)
{
	uint64_t user =
		skewed(s, m->shape.stacks / COMMANDS) * COMMANDS + (uint64_t)row->pid % COMMANDS;
	uint64_t kernel = (user * 31 + next(s) % 4) % (m->shape.stacks / 10);
	int err = mix_stack(r, m, user, &row->ustack_id);

	return err ? err : mix_stack(r, m, m->shape.stacks + kernel, &row->kstack_id);
}

static void mix_row(struct mix *m, struct random *s, struct row *row)
{
	uint64_t thread = mix_thread(m, s), command = thread % COMMANDS;
	bool profile = next(s) % m->shape.every == 0;

	row->timestamp += (int64_t)skewed(s, 60000) + 800;
	row->duration = profile ? 10101010 : (int64_t)skewed(s, 4000000) + 1500;
	row->kind = m->kinds[profile];
	row->cpu = (int32_t)(next(s) % 8);
	row->tgid = 4000 + (int32_t)(thread < THREADS ? command : thread);
	row->pid = 4000 + (int32_t)thread;
	row->command = row->thread = m->commands[command];
	row->buildid = m->buildids[command];
	row->unwind = m->unwind;
	row->state = profile ? 0 : m->states[skewed(s, 4)];
	row->runnable = (int64_t)skewed(s, 200000) + 700;
	row->present = ROW_USTACK_ID | ROW_KSTACK_ID | (profile ? 0 : ROW_RUNNABLE);
	row->cgroup = m->cgroup;
	row->host = m->host;
	row->weight = 1;
}

#define BLOCK 250

static int make_block(struct recording *r, struct mix *m, struct random *s, struct row *rows)
{
	struct row row = rows[BLOCK - 1];
	int err = 0;

	if (m->generation != recording__generation(r))
		intern_mix(r, m);
	for (size_t i = 0; i < BLOCK && !err; i++) {
		mix_row(m, s, &row);
		err = mix_stacks(r, m, s, &row);
		rows[i] = row;
	}
	return err;
}

static int bench(struct recording *r, uint64_t cnt, const struct shape *shape)
{
	struct row rows[BLOCK] = { [BLOCK - 1] = { .timestamp = 1700000000000000000 } };
	struct random s = { 1 };
	struct mix m = { .shape = *shape, .row_cnt = cnt };
	uint64_t add_ns = 0, has_ns = 0, has = 0, done = 0;
	int err = 0;

	for (; done < cnt && !err; done += BLOCK) {
		uint64_t t0, t1;

		err = make_block(r, &m, &s, rows);
		t0 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (size_t i = 0; i < BLOCK; i++)
			has += recording__has_stack(r, rows[i].ustack_id);
		t1 = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		has_ns += t1 - t0;
		for (size_t i = 0; i < BLOCK && !err; i++)
			err = recording__add(r, &rows[i]);
		add_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - t1;
		if (!err)
			err = recording__tick(r, (uint64_t)rows[BLOCK - 1].timestamp);
	}
	fprintf(stderr, "add_ns_per_row %.1f has_stack_ns %.1f known %.3f\n",
		(double)add_ns / (double)done, (double)has_ns / (double)done,
		(double)has / (double)done);
	return err;
}

/* ---- options -------------------------------------------------------------------------------- */

static bool parse_arg(struct args *a, const char *name, char *value)
{
	uint64_t n = strtoull(value, NULL, 10);

	if (strcmp(name, "rows") == 0)
		a->o.rows_per_group = n;
	else if (strcmp(name, "groups") == 0)
		a->o.groups_per_file = n;
	else if (strcmp(name, "batch_ns") == 0)
		a->o.batch_ns = n;
	else if (strcmp(name, "compression") == 0)
		a->o.compression = value;
	else if (strcmp(name, "append") == 0)
		a->o.append = n;
	else if (strcmp(name, "root") == 0)
		a->o.root = value;
	else if (strcmp(name, "uid") == 0)
		a->o.owner_uid = (uid_t)n;
	else if (strcmp(name, "gid") == 0)
		a->o.owner_gid = (gid_t)n;
	else if (strcmp(name, "generate") == 0)
		a->generate = n;
	else if (strcmp(name, "bench") == 0)
		a->bench = n;
	else if (strcmp(name, "stacks") == 0)
		a->shape.stacks = n;
	else if (strcmp(name, "processes") == 0)
		a->shape.processes = n;
	else if (strcmp(name, "every") == 0)
		a->shape.every = n;
	else
		return false;
	return true;
}

static void parse_args(struct args *a, int argc, char **argv)
{
	a->shape = (struct shape){ .stacks = 3000, .every = 200 };
	a->o = (struct recording_options){
		.dir = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL,
		.owner_uid = geteuid(),
		.owner_gid = getegid(),
		.rows_per_group = 100000,
		.groups_per_file = 10,
		.batch_ns = 10000000000,
		.compression = "zstd(1)",
	};
	for (int i = 2; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		if (!value || !parse_arg(a, argv[i], value))
			die(argv[i], -EINVAL);
	}
	if (argc < 2 || (!a->o.dir && !a->o.root))
		die("usage: write_recording DIR [OPTION=VALUE]...", -EINVAL);
}

static void report(const struct recording *r, uint64_t wall_ns, uint64_t own_ns)
{
	struct recording_stats s;
	double rows;

	recording__stats(r, &s);
	rows = s.rows ? (double)s.rows : 1;
	fprintf(stderr, "rows %" PRIu64 " batches %" PRIu64 " bytes %" PRIu64 "\n", s.rows,
		s.batches, s.bytes);
	fprintf(stderr, "bytes_per_row %.2f wall_ns_per_row %.0f writer_ns_per_row %.0f\n",
		(double)s.bytes / rows, (double)wall_ns / rows,
		(double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns) / rows);
}

int main(int argc, char **argv)
{
	uint64_t t0 = clock_ns(CLOCK_MONOTONIC);
	struct recording *r;
	struct args a = { 0 };
	int err, finish_err;

	log__init("write_recording", LOG_INFO);
	parse_args(&a, argc, argv);
	r = recording__new(&a.o);
	if (!r)
		return 1;
	printf("%s\n", recording__dir(r));
	fflush(stdout);
	err = a.generate ? generate(r, a.generate)
	      : a.bench	 ? bench(r, a.bench, &a.shape)
			 : script(r);
	finish_err = recording__finish(r);
	/* The CPU time of the process without this thread is the writer's. */
	report(r, clock_ns(CLOCK_MONOTONIC) - t0, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	recording__free(r);
	return err || finish_err ? 1 : 0;
}
