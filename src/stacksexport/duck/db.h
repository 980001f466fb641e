/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DuckDB over the files of recordings: connections, files, settings, and queries. Never loads
 * anything from the network. */
#ifndef STACKSEXPORT_DUCK_DB_H
#define STACKSEXPORT_DUCK_DB_H

#include <duckdb.h>

#include "base/buf.h"
#include "stacksexport/duck/definitions.h"
#include "stacksexport/duck/params.h"
#include "stacksexport/duck/recfiles.h"

struct db {
	duckdb_database database;
	duckdb_connection connection;
	const struct recfiles *files;	 /* the files of the recording; borrowed */
	struct definitions *definitions; /* views and macros; shared by its connections */
	bool same_columns;		 /* all files have the same columns */
	bool in_order; /* rows are in the order of time, so that following() is available */
	/* Reports damaged files after a query failed to read; NULL: not called. */
	void (*blame)(struct db *, const struct recfiles *);
	/* Selects a part of the recording on another connection; NULL: all. */
	int (*select)(struct db *, const void *arg);
	const void *select_arg;
	const char *values[PARAM_CNT]; /* values of ?command and ?buildid; NULL is SQL's NULL */
};

/* Opens an empty database in memory; dbopen.h adds the tables. Returns 0 or -errno (already
 * logged).
 */
int db__connect(struct db *);
void db__close(struct db *);

/* Opens another connection to the same tables, with the same selection. The caller closes it with
 * duckdb_disconnect().
 * Returns 0 or -errno (already logged). */
int db__connect_again(const struct db *, struct db *out);

/* Returns whether DuckDB's message says that a query was interrupted. */
bool db__is_interrupt(const char *words);

/* Sets the files of the tables. Returns 0 or -errno (already logged). */
int db__set_files(struct db *, const struct recfiles *);

/* Tells DuckDB whether it must read the columns of each file (.same_columns). Returns 0 or -errno
 * (already logged). */
int db__set_unions(struct db *);

/* Runs statements that return no rows, after the definitions of what they mention. Returns 0 or
 * -errno (already logged). */
int db__command(struct db *, const char *sql);

/* Runs SET VARIABLE name = value. Destroys the value. Returns 0 or -errno (already logged). */
int db__set_variable(struct db *, const char *name, duckdb_value);

/* Appends a text as a literal of SQL, or with " as an identifier. */
void db__append_quoted(struct buf *, const char *, char quote);

/*
 * From now on SQL reads only files of the recording and, if `folder` is not NULL, in that folder.
 * It loads nothing and changes no setting, on all connections. Returns 0 or -errno (already
 * logged).
 */
int db__lock_down(struct db *, const char *folder);

/* Runs the script sql/NAME of the share folder; its views and macros are made when a statement
 * mentions them. Returns 0 or -errno (already logged). */
int db__script(struct db *, const char *path);

/* Makes all views and macros now. Connections of several threads need them there. Returns 0 or
 * -errno (already logged). */
int db__define_all(struct db *);

/* Binds the parameters that the statement uses. Returns 0 or -EINVAL (already logged). */
int db__bind(struct db *, duckdb_prepared_statement);

/*
 * Prepares `sql` (one statement) and binds the parameters that it uses. Returns 0, or -EINVAL after
 * logging DuckDB's message; the caller destroys *out in either case.
 */
int db__prepare(struct db *, const char *sql, duckdb_prepared_statement *out);

/*
 * Prepares FROM (sql), to find the columns that `sql` gives, and binds its parameters. Refuses
 * statements without rows, such as SET and CREATE. Returns 0 or -errno (already logged); the caller
 * destroys *out in either case.
 */
int db__prepare_rows(struct db *, const char *sql, duckdb_prepared_statement *out);

/* From now on / between integers is integer division, as in the predecessor's queries. Logs errors.
 */
int db__divide_integers(struct db *);

/* Runs a pending statement to its end, without spinning while DuckDB's threads work on it. Sets the
 * reason of an error in *out. */
duckdb_state db__finish_pending(duckdb_pending_result, duckdb_result *out);

/* Runs a statement to its end before any row is read. The caller destroys *out in either case. Logs
 * errors. */
int db__execute(struct db *, duckdb_prepared_statement, duckdb_result *out);

/* Prepares and executes. */
int db__run(struct db *, const char *sql, duckdb_result *out);

/* Runs all statements of a text except the last, which stays in st->sql[st->cnt - 1]. Logs errors.
 */
int db__run_but_last(struct db *, const struct statements *);

/* Runs the file sql/PATH of the share folder as one query. Logs errors. */
int db__run_file(struct db *, const char *path, duckdb_result *out);

/* Like db__run_file(), for a query with one row of `cnt` integers; null becomes 0. Returns 0 or
 * -errno (already logged). */
int db__read_integers(struct db *, const char *path, int64_t *const *fields, size_t cnt);

#endif
