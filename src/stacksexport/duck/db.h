/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DuckDB over the files of recordings: opening, preparing, running. It never loads anything from
 * the network. */
#ifndef STACKSEXPORT_DUCK_DB_H
#define STACKSEXPORT_DUCK_DB_H

#include <duckdb.h>

#include "base/buf.h"
#include "stacksexport/duck/params.h"
#include "stacksexport/duck/recfiles.h"

struct db {
	duckdb_database database;
	duckdb_connection connection;
	const struct recfiles *files; /* of the recording; borrowed */
	bool same_columns;	      /* all files have the same columns */
	bool in_order;		      /* rows lie in the order of time: following() is there */
	const char
		*values[PARAM_CNT]; /* what ?command and ?buildid stand for; NULL is SQL's NULL */
};

/*
 * Opens with the tables of sql/stacks.sql over those of `files` that can be read (batches.h), which
 * must live longer. 0 or -errno, after saying on stderr what failed; db__close() is called in
 * either case.
 */
int db__open(struct db *, struct recfiles *);
/* Leaves the native frames of interpreters out of stacks from now on. Returns 0 or -errno; reports.
 */
int db__hide_interpreter(struct db *);
void db__close(struct db *);

/* Another connection to the same tables, to be closed by duckdb_disconnect(). 0 or -errno; reports.
 */
int db__connect_again(const struct db *, struct db *out);

/* Which files the tables are made of. 0 or -errno; reports. */
int db__set_files(struct db *, const struct recfiles *);

/* SET VARIABLE name = value. Destroys the value. 0 or -errno; reports. */
int db__set_variable(struct db *, const char *name, duckdb_value);

/* As a literal of SQL, or with " as a name. */
void db__append_quoted(struct buf *, const char *, char quote);

/*
 * From now on SQL reads no file but those of the recording, loads nothing and changes no setting,
 * on all connections. The files in `folder` can be read, too, if it is not NULL. 0 or -errno;
 * reports.
 */
int db__lock_down(struct db *, const char *folder);

/* Reads a script of the share folder, sql/NAME. 0 or -errno; reports. */
int db__script(struct db *, const char *path);

/* Binds the parameters that the statement names. 0 or -EINVAL; reports. */
int db__bind(struct db *, duckdb_prepared_statement);

/*
 * Prepares `sql` (one statement) and binds the parameters that it names. 0, or -EINVAL after
 * reporting DuckDB's words; the caller destroys *out in either case.
 */
int db__prepare(struct db *, const char *sql, duckdb_prepared_statement *out);

/*
 * Prepares FROM (sql), to know the columns that `sql` gives; its parameters are bound. Refuses what
 * gives no rows, as SET and CREATE do. 0 or -EINVAL, reports; the caller destroys *out in either
 * case.
 */
int db__prepare_rows(struct db *, const char *sql, duckdb_prepared_statement *out);

/* From now on / between integers divides as integers, as in the predecessor's queries. Reports. */
int db__divide_integers(struct db *);

/* Runs to the end, before any row is looked at. The caller destroys *out in either case. Reports.
 */
int db__execute(struct db *, duckdb_prepared_statement, duckdb_result *out);

/* Both in turn. */
int db__run(struct db *, const char *sql, duckdb_result *out);

/* Parses a text and runs all its statements but the last, which is left in st->sql[st->cnt - 1].
 * Reports. */
int db__run_but_last(struct db *, const struct statements *);

/* The file sql/PATH of the share folder, run as one query. Reports. */
int db__run_file(struct db *, const char *path, duckdb_result *out);

/* The same for a query with one row of `cnt` integers; null is 0. 0 or -errno; reports. */
int db__read_integers(struct db *, const char *path, int64_t *const *fields, size_t cnt);

#endif
