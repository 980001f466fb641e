// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "stacksexport/duck/cells.h"
#include "stacksexport/duck/functionat.h"
#include "stacksexport/duck/functionids.h"
#include "stacksexport/duck/idlists.h"
#include "stacksexport/duck/sources.h"
#include "stacksexport/lossshare.h"
#include "stacksexport/moment.h"
#include "stacksexport/newest.h"
#include "stacksexport/progress.h"
#include "stacksexport/selection.h"
#include "base/utf8.h"
#include "stacksexport/duck/dbopen.h"

static int request_read_binary(struct request *r)
{
	const char *path = r->options->binary;
	int err = path ? binary__build_id(path, r->build_id) : 0;

	if (!err)
		return STATUS_OK;
	if (err == -ENOEXEC)
		log__error("-b %s: not an ELF file", path);
	else if (err == -ENODATA)
		log__error("-b %s: the file has no build ID; link it with -Wl,--build-id", path);
	else
		log__error("-b %s: %s", path, strerror(-err));
	return STATUS_FAILED;
}

/* The kernel keeps 15 bytes of a name, so no longer one is in any recording. */
static void request_read_comm(struct request *r)
{
	const char *comm = r->options->comm;

	if (!comm)
		return;
	snprintf(r->comm, sizeof(r->comm), "%s", comm);
	if (strlen(comm) >= sizeof(r->comm))
		log__warn("-c %s: command names have at most %zu bytes; searching for '%s'", comm,
			  sizeof(r->comm) - 1, r->comm);
}

static int request_open_binaries(struct request *r)
{
	struct function_places *places;
	struct function_numbers *numbers;
	int err;

	r->binaries = binaries__new(r->options->binary);
	if (!r->binaries) {
		log__error("out of memory");
		return -ENOMEM;
	}
	err = function_at__register(&r->db, r->binaries, &places);
	if (!err)
		err = function_ids__register(&r->db, places, &numbers);
	return err ? err : id_lists__register(&r->db, numbers);
}

/* Selects the part of the recording on a connection. */
static int request_select(struct db *db, const void *request)
{
	const struct request *r = request;
	int err = selection__set(db, r->options, &r->extent);

	return err ? err : selection__set_command(db, r->db.values[PARAM_COMMAND]);
}

int request__open(struct request *r, const struct export_options *options)
{
	int status = selection__check(options);

	*r = (struct request){ .options = options };
	if (status != STATUS_OK)
		return status;
	if (request_read_binary(r) != STATUS_OK ||
	    recfiles__find(&r->files, options->recordings, options->recording_cnt) != 0)
		return STATUS_FAILED;
	progress__begin(&r->files);
	r->files.grow = options->follows && recfiles__is_written(r->files.label);
	if (db__open(&r->db, &r->files) != 0 || request_open_binaries(r) != 0)
		return STATUS_FAILED;
	if (!options->interpreter && db__hide_interpreter(&r->db) != 0)
		return STATUS_FAILED;
	if (!options->recording_cnt)
		newest__report(&r->files);
	request_read_comm(r);
	r->db.values[PARAM_COMMAND] = options->comm ? r->comm : NULL;
	r->db.values[PARAM_BUILDID] = options->binary ? r->build_id : NULL;
	if (selection__read_extent(&r->db, options, &r->extent) != 0 ||
	    request_select(&r->db, r) != 0)
		return STATUS_FAILED;
	r->db.select = request_select;
	r->db.select_arg = r;
	return STATUS_OK;
}

void request__close(struct request *r)
{
	progress__end();
	db__close(&r->db);
	binaries__free(r->binaries);
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
		log__error("%s: the file has no query", name);
	if (err || !st->cnt)
		return STATUS_FAILED;
	for (size_t i = 0; i < st->cnt; i++) {
		r->reads |= sources__read_by(st->sql[i]);
		r->reads_lost |= sources__reads_lost(st->sql[i]);
	}
	for (size_t i = 0; i < PARAM_CNT; i++)
		if (st->uses[givers[i].param] && !st->optional[givers[i].param] &&
		    !r->db.values[givers[i].param])
			return export_options__wrong(r->options, "%s asks for ?%s: give it with %s",
						     name, param_names[givers[i].param],
						     givers[i].option);
	return selection__set_command(&r->db,
				      st->uses[PARAM_COMMAND] ? NULL : r->db.values[PARAM_COMMAND])
		       ? STATUS_FAILED
		       : STATUS_OK;
}

int request__facts(struct request *r, struct recording_facts *facts)
{
	int64_t *const fields[] = { &facts->start_ns, &facts->wall_ns, &facts->period_ns };

	return db__read_integers(&r->db, "sql/recording.sql", fields,
				 sizeof(fields) / sizeof(fields[0]));
}

int request__lost(struct request *r, int64_t *lost)
{
	int64_t *const fields[] = { lost };
	int err = db__read_integers(&r->db, "sql/lost.sql", fields, 1);
	int64_t missing = 0;

	if (!err && *lost && !r->reads_lost)
		err = loss_share__of(&r->db, r->reads, &missing);
	if (missing)
		log__warn("%" PRId64 " %s lost while recording: sums are too small", missing,
			  missing == 1 ? "event was" : "events were");
	return err;
}

int request__each_text(struct request *r, const char *path,
		       void (*fn)(const char *s, size_t sz, void *arg), void *arg)
{
	duckdb_data_chunk chunk;
	duckdb_result result;
	int err = db__run_file(&r->db, path, &result);

	if (!err)
		while ((chunk = duckdb_fetch_chunk(result))) {
			struct cells text = cells__on(duckdb_data_chunk_get_vector(chunk, 0));

			for (idx_t i = 0; i < duckdb_data_chunk_get_size(chunk); i++) {
				size_t sz = 0;
				const char *s = cells__str(&text, i, &sz);

				fn(s ? s : "", sz, arg);
			}
			duckdb_destroy_data_chunk(&chunk);
		}
	duckdb_destroy_result(&result);
	return err;
}

/* ---- what is not in a result --------------------------------------------------------------------
 */

/* Kinds of events, as bit sets: those that occurred, and those that were recorded. */
struct recorded {
	uint64_t happened, asked;
};

static void request_take_kind(const char *s, size_t sz, void *arg)
{
	*(uint64_t *)arg |= sources__kind(s, sz);
}

static void request_take_sources(const char *s, size_t sz, void *arg)
{
	*(uint64_t *)arg |= sources__of_list(s, sz);
}

static struct recorded request_recorded(struct request *r)
{
	struct recorded have = { 0 };

	if (!r->reads)
		return have;
	request__each_text(r, "sql/kinds.sql", request_take_kind, &have.happened);
	request__each_text(r, "sql/sources.sql", request_take_sources, &have.asked);
	have.asked |= have.happened;
	return have;
}

static const char *request_text_of(const struct buf *b)
{
	return buf__err(b) ? "?" : (const char *)b->data;
}

/* "postgres, nginx" */
static void request_append_text(const char *s, size_t sz, void *arg)
{
	struct buf *out = arg;

	if (out->sz)
		buf__append(out, ", ", 2);
	utf8__sanitize_printable(out, s, sz);
}

/* Prints `what`, which is empty or names what is missing, and the commands of the recording. */
static void request_say_commands(struct request *r, const char *what)
{
	struct buf commands = { 0 };

	request__each_text(r, "sql/commands.sql", request_append_text, &commands);
	buf__str(&commands, commands.sz ? "" : "none");
	buf__u8(&commands, 0);
	log__error("the result is empty; %scommands in %s: %s", what, r->files.label,
		   request_text_of(&commands));
	buf__free(&commands);
}

/* No event is in the selection. */
static void request_say_unselected(struct request *r)
{
	int64_t start_ns = 0, end_ns = 0, *const fields[] = { &start_ns, &end_ns };
	struct buf selection = { 0 };
	char when[MOMENT_TEXT_SZ];

	if (db__read_integers(&r->db, "sql/extent.sql", fields, 2) != 0)
		return;
	selection__describe(&selection, r->options);
	buf__u8(&selection, 0);
	moment__format(start_ns, when);
	log__error("the result is empty: %s selects no event of %s, which has %.1f s from %s",
		   request_text_of(&selection), r->files.label, (double)(end_ns - start_ns) / 1e9,
		   when);
	buf__free(&selection);
}

/* What -c, -b and the selection name is not in the recording. */
static bool request_say_unknown(struct request *r)
{
	int64_t of_command = 0, of_program = 0, of_selection = 0;
	int64_t *const fields[] = { &of_command, &of_program, &of_selection };
	const struct export_options *o = r->options;

	if (!(o->given & (OPTION_COMM | OPTION_BINARY | OPTIONS_SELECTION)) ||
	    db__read_integers(&r->db, "sql/named.sql", fields, 3) != 0)
		return false;
	if (o->comm && !of_command)
		request_say_commands(r, "there is no such command; ");
	else if (o->binary && !of_program)
		log__error("the result is empty: no process in %s ran %s (build ID %s)",
			   r->files.label, o->binary, r->build_id);
	else if (!of_selection && (o->given & OPTIONS_SELECTION))
		request_say_unselected(r);
	else
		return false;
	return true;
}

/* What the query reads was recorded, and did not happen. */
static bool request_say_quiet(const struct request *r, const struct recorded *have)
{
	struct buf kinds = { 0 };

	if (!r->reads || (r->reads & have->happened) || (r->reads & ~have->asked))
		return false;
	sources__names(&kinds, r->reads);
	buf__u8(&kinds, 0);
	log__error("the result is empty: %s recorded %s, but no such event occurred",
		   r->files.label, request_text_of(&kinds));
	buf__free(&kinds);
	return true;
}

static void request_say_why(struct request *r, const struct recorded *have)
{
	const struct export_options *o = r->options;

	if (request_say_unknown(r) || request_say_quiet(r, have))
		return;
	if (o->comm || o->binary)
		log__error("the result is empty: %s is in %s, but none of its rows match the query",
			   o->comm ? o->comm : o->binary, r->files.label);
	else
		request_say_commands(r, "");
}

/* What the query reads and the recording does not have; empty, or with its NUL. */
static struct buf request_find_missing(const struct request *r, const struct recorded *have)
{
	struct buf missing = { 0 };

	sources__missing(&missing, r->reads, have->asked);
	if (missing.sz)
		buf__u8(&missing, 0);
	return missing;
}

void request__partly(struct request *r)
{
	const struct recorded have = request_recorded(r);
	struct buf missing = request_find_missing(r, &have);

	if (missing.sz)
		log__warn("%s lacks some of what the query reads: %s", r->files.label,
			  request_text_of(&missing));
	buf__free(&missing);
}

int request__empty(struct request *r)
{
	const struct recorded have = request_recorded(r);
	struct buf missing = request_find_missing(r, &have);

	if (missing.sz) {
		log__error("the result is empty; the query reads events that %s lacks; record them "
			   "with: %s",
			   r->files.label, request_text_of(&missing));
		request_say_unknown(r);
	} else {
		request_say_why(r, &have);
	}
	buf__free(&missing);
	return STATUS_FAILED;
}

void request__stackless(const struct request *r)
{
	struct buf sources = { 0 };

	sources__with_stacks(&sources, r->reads);
	buf__u8(&sources, 0);
	log__warn("there are no stacks: the events were recorded without stacks%s%s",
		  r->reads ? "; with stacks: " : "", request_text_of(&sources));
	buf__free(&sources);
}
