// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/buf.h"
#include "base/log.h"
#include "stacksexport/cells.h"
#include "stacksexport/sources.h"
#include "base/utf8.h"

static int read_binary(struct request *r)
{
	const char *path = r->options->binary;
	int err = path ? binary__build_id(path, r->build_id) : 0;

	if (!err)
		return STATUS_OK;
	if (err == -ENOEXEC)
		log__error("-b %s: it is no ELF file", path);
	else if (err == -ENODATA)
		log__error("-b %s: it has no build ID to find it by; link it with -Wl,--build-id",
			   path);
	else
		log__error("-b %s: %s", path, strerror(-err));
	return STATUS_FAILED;
}

/* The kernel keeps 15 bytes of a name, so no longer one is in any recording. */
static void read_comm(struct request *r)
{
	const char *comm = r->options->comm;

	if (!comm)
		return;
	snprintf(r->comm, sizeof(r->comm), "%s", comm);
	if (strlen(comm) >= sizeof(r->comm))
		log__warn("-c %s: names of commands have at most %zu bytes; looking for '%s'", comm,
			  sizeof(r->comm) - 1, r->comm);
}

int request__open(struct request *r, const struct export_options *options)
{
	*r = (struct request){ .options = options };
	if (read_binary(r) != STATUS_OK || recfiles__find(&r->files, options->recording) != 0 ||
	    db__open(&r->db, &r->files) != 0)
		return STATUS_FAILED;
	read_comm(r);
	r->db.values[PARAM_COMMAND] = options->comm ? r->comm : NULL;
	r->db.values[PARAM_BUILDID] = options->binary ? r->build_id : NULL;
	return STATUS_OK;
}

void request__close(struct request *r)
{
	db__close(&r->db);
	recfiles__free(&r->files);
}

static const struct {
	enum param param;
	const char *option;
} givers[] = { { PARAM_COMMAND, "-c COMM" }, { PARAM_BUILDID, "-b ELF" } };

int request__parse(struct request *r, const char *name, const char *text, struct statements *st)
{
	int err = statements__parse(st, text);

	if (err)
		log__error("%s: %s", name,
			   err == -EINVAL ? "a quote or a comment does not end" : strerror(-err));
	else if (!st->cnt)
		log__error("%s: there is no query in it", name);
	if (err || !st->cnt)
		return STATUS_FAILED;
	for (size_t i = 0; i < st->cnt; i++)
		r->reads |= sources__read_by(st->sql[i]);
	for (size_t i = 0; i < PARAM_CNT; i++)
		if (st->uses[givers[i].param] && !st->optional[givers[i].param] &&
		    !r->db.values[givers[i].param])
			return export_options__wrong(r->options, "%s asks for ?%s: give it with %s",
						     name, param_names[givers[i].param],
						     givers[i].option);
	if (r->options->comm && !st->uses[PARAM_COMMAND])
		log__warn("%s does not ask for ?command: -c changes nothing", name);
	return STATUS_OK;
}

int request__facts(struct request *r, struct recording_facts *facts)
{
	int64_t *const fields[] = { &facts->start_ns, &facts->wall_ns, &facts->period_ns,
				    &facts->lost };

	return db__read_integers(&r->db, "sql/recording.sql", fields,
				 sizeof(fields) / sizeof(fields[0]));
}

/* "postgres, nginx": the texts of the first column. The result's owner is who asked for it. */
static void append_texts(struct buf *out, duckdb_result *result)
{
	duckdb_data_chunk chunk;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct cells text = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			size_t sz;
			const char *s = cells__str(&text, i, &sz);

			if (out->sz)
				buf__append(out, ", ", 2);
			utf8__sanitize_printable(out, s ? s : "", sz);
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	if (!out->sz)
		buf__str(out, "none");
	buf__u8(out, 0);
}

/* The kinds that the recording has, as a set. */
static uint64_t take_kinds(duckdb_result *result)
{
	duckdb_data_chunk chunk;
	uint64_t kinds = 0;

	while ((chunk = duckdb_fetch_chunk(*result))) {
		struct cells kind = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

		for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
			size_t sz;
			const char *s = cells__str(&kind, i, &sz);

			kinds |= s ? sources__kind(s, sz) : 0;
		}
		duckdb_destroy_data_chunk(&chunk);
	}
	return kinds;
}

static uint64_t recorded_kinds(struct request *r)
{
	duckdb_result result;
	uint64_t kinds =
		db__run_file(&r->db, "sql/kinds.sql", &result) == 0 ? take_kinds(&result) : 0;

	duckdb_destroy_result(&result);
	return kinds;
}

static const char *text_of(const struct buf *b)
{
	return buf__err(b) ? "?" : (const char *)b->data;
}

/* What is there, when that does not explain it. */
static void say_commands(struct request *r)
{
	struct buf commands = { 0 };
	duckdb_result result;

	if (db__run_file(&r->db, "sql/commands.sql", &result) == 0) {
		append_texts(&commands, &result);
		log__error("the result is empty; commands in %s: %s", r->files.label,
			   text_of(&commands));
	}
	duckdb_destroy_result(&result);
	buf__free(&commands);
}

/* What the query reads and the recording does not have; empty, or with its NUL. */
static struct buf find_missing(const struct request *r, uint64_t recorded)
{
	struct buf missing = { 0 };

	sources__missing(&missing, r->reads, recorded);
	if (missing.sz)
		buf__u8(&missing, 0);
	return missing;
}

void request__partly(struct request *r)
{
	struct buf missing = find_missing(r, r->reads ? recorded_kinds(r) : 0);

	if (missing.sz)
		log__warn("%s has none of what the query also reads: %s", r->files.label,
			  text_of(&missing));
	buf__free(&missing);
}

int request__empty(struct request *r)
{
	uint64_t recorded = r->reads ? recorded_kinds(r) : 0;
	struct buf missing = find_missing(r, recorded);

	if (missing.sz)
		log__error("the result is empty; the query reads what is not in %s, and has to be "
			   "recorded: %s",
			   r->files.label, text_of(&missing));
	if (!missing.sz || (r->reads & recorded))
		say_commands(r);
	buf__free(&missing);
	return STATUS_FAILED;
}

void request__stackless(const struct request *r)
{
	struct buf sources = { 0 };

	sources__with_stacks(&sources, r->reads);
	buf__u8(&sources, 0);
	log__warn("there are no stacks, as the events were recorded without%s%s",
		  r->reads ? "; with stacks: " : "", text_of(&sources));
	buf__free(&sources);
}
