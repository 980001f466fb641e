// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/following.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "stacksexport/duck/pairing.h"

/* The columns that the pass itself reads, and their types. */
static const struct {
	const char *name, *type;
} controls[] = {
	{ "key", "UBIGINT" },	  { "moment", "BIGINT" },  { "begin", "BIGINT" },
	{ "is_mark", "BOOLEAN" }, { "is_end", "BOOLEAN" },
};

#define CONTROL_CNT (sizeof(controls) / sizeof(controls[0]))

/* The arguments of a call, and the columns of its query. */
struct call {
	char *query;
	size_t file_cnt; /* of the recording's files, those that it reads: the first ones */
	struct call_column {
		char *name;
		duckdb_type type;
	} * columns;
	idx_t column_cnt;
};

/* Files are read together up to this size. Preparing a query takes 3 ms, and what was read stays
 * in memory until it is taken. */
#define GROUP_SZ (16 << 20)

/* The rows of a group of files. They are read while the rows of the previous group are taken. */
struct file_group {
	struct db db; /* a separate connection: that of the outer query is busy */
	duckdb_prepared_statement query;
	duckdb_pending_result pending;
	duckdb_result rows;
};

/* One run of a call, over all groups of files in turn. */
struct run {
	struct file_group groups[2]; /* the group that is taken, and the next one */
	size_t started, taken;	     /* numbers of groups */
	size_t file_cnt;	     /* files in the groups that were started */
	struct recfiles files;	     /* borrowed */
	struct buf sql;
	struct pairing *pairing;
};

static void call__free(void *arg)
{
	struct call *call = arg;

	for (idx_t i = 0; i < call->column_cnt; i++)
		duckdb_free(call->columns[i].name);
	free(call->columns);
	duckdb_free(call->query);
	free(call);
}

static void file_group__end(struct file_group *b)
{
	duckdb_destroy_result(&b->rows);
	duckdb_destroy_pending(&b->pending);
	duckdb_destroy_prepare(&b->query);
}

static void run__free(void *arg)
{
	struct run *run = arg;

	for (size_t i = 0; i < 2; i++) {
		file_group__end(&run->groups[i]);
		duckdb_disconnect(&run->groups[i].db.connection);
	}
	pairing__free(run->pairing);
	buf__free(&run->sql);
	free(run);
}

static const char *following_take_column(struct call *call, duckdb_bind_info info,
					 duckdb_prepared_statement query)
{
	idx_t i = call->column_cnt;
	const char *name = duckdb_prepared_statement_column_name(query, i);
	duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(query, i);

	call->columns[i] = (struct call_column){ (char *)name, duckdb_get_type_id(type) };
	call->column_cnt++;
	if (pairing__can(call->columns[i].type))
		duckdb_bind_add_result_column(info, name, type);
	duckdb_destroy_logical_type(&type);
	return pairing__can(call->columns[i].type)
		       ? NULL
		       : "following() takes only numbers, texts and bytes";
}

/* Returns NULL, or the error. */
static const char *following_take_columns(struct call *call, duckdb_bind_info info,
					  duckdb_prepared_statement query)
{
	idx_t cnt = duckdb_prepared_statement_column_count(query);
	const char *wrong = NULL;

	call->columns = calloc(cnt ? cnt : 1, sizeof(*call->columns));
	if (!call->columns)
		return "out of memory";
	while (call->column_cnt < cnt && !wrong)
		wrong = following_take_column(call, info, query);
	return wrong;
}

/* Takes the second argument: the number of files that the connection of the outer query reads. */
static void following_take_file_cnt(struct call *call, duckdb_bind_info info, const struct db *db)
{
	duckdb_value number = duckdb_bind_get_parameter(info, 1);
	int64_t cnt = duckdb_is_null_value(number) ? 0 : duckdb_get_int64(number);

	call->file_cnt = cnt < 0 ? 0 : (size_t)cnt;
	if (call->file_cnt > db->files->cnt)
		call->file_cnt = db->files->cnt;
	duckdb_destroy_value(&number);
}

/* Prepares the query of a call, to find its columns. Returns NULL, or the error. */
static const char *following_take_query(struct call *call, duckdb_bind_info info,
					const struct db *db, duckdb_prepared_statement *query)
{
	duckdb_value text = duckdb_bind_get_parameter(info, 0);

	if (!duckdb_is_null_value(text))
		call->query = duckdb_get_varchar(text);
	duckdb_destroy_value(&text);
	if (!call->query)
		return "following() takes a query";
	if (duckdb_prepare(db->connection, call->query, query) != DuckDBSuccess)
		return duckdb_prepare_error(*query);
	return following_take_columns(call, info, *query);
}

static void following_bind(duckdb_bind_info info)
{
	struct call *call = calloc(1, sizeof(*call));
	duckdb_prepared_statement query = NULL;
	const char *wrong = "out of memory";
	struct db db = { 0 };

	if (call) {
		following_take_file_cnt(call, info, duckdb_bind_get_extra_info(info));
		if (db__connect_again(duckdb_bind_get_extra_info(info), &db) == 0)
			wrong = following_take_query(call, info, &db, &query);
		duckdb_bind_set_bind_data(info, call, call__free);
	}
	if (wrong)
		duckdb_bind_set_error(info, wrong);
	duckdb_destroy_prepare(&query);
	duckdb_disconnect(&db.connection);
}

static enum pairing_of following_of_name(const char *name)
{
	if (strncmp(name, "next_", 5) == 0)
		return PAIRING_NEXT;
	return strncmp(name, "mark_", 5) == 0 ? PAIRING_MARK : PAIRING_ROW;
}

/* Appends SELECT key, moment, begin, is_mark, is_end, and the other columns that the outer query
 * uses. */
static void following_append_query(struct buf *sql, const struct call *call, duckdb_init_info info)
{
	buf__str(sql, "SELECT ");
	for (size_t i = 0; i < CONTROL_CNT; i++)
		buf__printf(sql, "%s\"%s\"::%s", i ? ", " : "", controls[i].name, controls[i].type);
	for (idx_t i = 0; i < duckdb_init_get_column_count(info); i++) {
		buf__str(sql, ", ");
		db__append_quoted(sql, call->columns[duckdb_init_get_column_index(info, i)].name,
				  '"');
	}
	buf__printf(sql, " FROM (%s\n)", call->query);
	buf__u8(sql, 0);
}

/* Begins to read the next group, if there is one. Returns 0 or -errno (already logged). */
static int following_start_next(struct run *run)
{
	struct file_group *b = &run->groups[run->started % 2];
	struct recfiles files = recfiles__part(&run->files, run->file_cnt, GROUP_SZ);
	int err;

	file_group__end(b);
	if (!files.cnt)
		return 0;
	run->started++;
	run->file_cnt += files.cnt;
	err = db__set_files(&b->db, &files);
	if (!err)
		err = db__prepare(&b->db, (const char *)run->sql.data, &b->query);
	if (!err && duckdb_pending_prepared(b->query, &b->pending) != DuckDBSuccess)
		err = -EINVAL;
	return err;
}

static struct pairing *following_make_pairing(const struct call *call, duckdb_init_info info)
{
	static const struct pairing_control control = { 0, 1, 2, 3, 4 };
	idx_t cnt = duckdb_init_get_column_count(info);
	struct pairing_column *columns = calloc(cnt ? cnt : 1, sizeof(*columns));
	struct pairing *pairing = NULL;

	for (idx_t i = 0; columns && i < cnt; i++) {
		const struct call_column *c = &call->columns[duckdb_init_get_column_index(info, i)];

		columns[i] = (struct pairing_column){ .input = CONTROL_CNT + i,
						      .output = i,
						      .of = following_of_name(c->name),
						      .type = c->type };
	}
	if (columns)
		pairing = pairing__new(&control, columns, cnt);
	free(columns);
	return pairing;
}

/* Returns NULL, or the error. */
static const char *run__start(struct run *run, const struct call *call, duckdb_init_info info)
{
	const struct db *db = duckdb_init_get_extra_info(info);

	run->files = *db->files;
	run->files.cnt = call->file_cnt;
	run->pairing = following_make_pairing(call, info);
	following_append_query(&run->sql, call, info);
	if (!run->pairing || buf__err(&run->sql) != 0 ||
	    db__connect_again(db, &run->groups[0].db) != 0 ||
	    db__connect_again(db, &run->groups[1].db) != 0)
		return "out of memory";
	return following_start_next(run) == 0 ? NULL : "the query of following() cannot be run";
}

static void following_init(duckdb_init_info info)
{
	const struct call *call = duckdb_init_get_bind_data(info);
	struct run *run = calloc(1, sizeof(*run));
	const char *wrong = run ? run__start(run, call, info) : "out of memory";

	if (wrong)
		duckdb_init_set_error(info, wrong);
	duckdb_init_set_max_threads(info, 1);
	duckdb_init_set_init_data(info, run, run__free);
}

/* Returns the next chunk of all groups in turn; NULL at the end, or with *wrong. */
static duckdb_data_chunk following_next_chunk(struct run *run, const char **wrong)
{
	while (run->taken < run->started) {
		struct file_group *b = &run->groups[run->taken % 2];
		duckdb_data_chunk chunk;

		if (b->pending) {
			if (following_start_next(run) != 0 ||
			    db__finish_pending(b->pending, &b->rows) != DuckDBSuccess) {
				*wrong = duckdb_result_error(&b->rows);
				*wrong = *wrong ? *wrong : "the query of following() cannot be run";
				return NULL;
			}
			duckdb_destroy_pending(&b->pending);
		}
		chunk = duckdb_fetch_chunk(b->rows);
		if (chunk && duckdb_data_chunk_get_size(chunk))
			return chunk;
		duckdb_destroy_data_chunk(&chunk);
		run->taken++;
	}
	return NULL;
}

/* Takes chunks until one completes a row, because a result without rows would be the end. Returns
 * NULL, or the error. */
static const char *following_give_rows(struct run *run, duckdb_data_chunk output)
{
	duckdb_data_chunk chunk = NULL;
	const char *wrong = NULL;
	int err = 0;

	do {
		duckdb_destroy_data_chunk(&chunk);
		chunk = following_next_chunk(run, &wrong);
		if (chunk)
			err = pairing__take(run->pairing, chunk, output);
		if (err)
			wrong = err == -ENOMEM ? "out of memory"
					       : "rows are not in the order of time, which their "
						 "file says they are";
	} while (chunk && !wrong && duckdb_data_chunk_get_size(output) == 0);
	if (!chunk && !wrong)
		pairing__finish(run->pairing, output);
	duckdb_destroy_data_chunk(&chunk);
	return wrong;
}

static void following_go_on(duckdb_function_info info, duckdb_data_chunk output)
{
	struct run *run = duckdb_function_get_init_data(info);
	const char *wrong = following_give_rows(run, output);

	if (wrong)
		duckdb_function_set_error(info, wrong);
}

int following__register(struct db *db)
{
	duckdb_logical_type text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_table_function f = duckdb_create_table_function();
	duckdb_state state;

	duckdb_table_function_set_name(f, "following");
	duckdb_table_function_add_parameter(f, text);
	duckdb_table_function_add_parameter(f, number);
	duckdb_table_function_set_extra_info(f, db, NULL);
	duckdb_table_function_set_bind(f, following_bind);
	duckdb_table_function_set_init(f, following_init);
	duckdb_table_function_set_function(f, following_go_on);
	duckdb_table_function_supports_projection_pushdown(f, true);
	state = duckdb_register_table_function(db->connection, f);
	duckdb_destroy_table_function(&f);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&number);
	if (state == DuckDBSuccess)
		return 0;
	log__error("cannot register the function that pairs successive rows with DuckDB");
	return -EINVAL;
}
