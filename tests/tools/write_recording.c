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
#include "recording_mix.h"

struct args {
	struct recording_options o;
	uint64_t generate, bench;
	struct shape shape;
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

/* ---- rows of a realistic mix: recording_mix.h ----------------------------------------------- */

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
