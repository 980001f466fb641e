// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/grouping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* What --by takes, see group_of() in sql/stacks.sql. */
static const char *const bys[] = { "command",	"process", "thread", "cgroup",
				   "container", "unit",	   "span",   "host" };

int grouping__check(const struct export_options *o)
{
	if (!o->by)
		return STATUS_OK;
	for (size_t i = 0; i < sizeof(bys) / sizeof(bys[0]); i++)
		if (strcmp(o->by, bys[i]) == 0)
			return STATUS_OK;
	return export_options__wrong(o,
				     "--by '%s': expected command, process, thread, cgroup, "
				     "container, unit, span or host",
				     o->by);
}

int grouping__check_tracks(const struct export_options *o)
{
	if (o->by && strcmp(o->by, "span") == 0)
		return export_options__wrong(o, "--by span: a track is a thread, which is in many "
						"spans; select one with --span NAME");
	return grouping__check(o);
}

int grouping__use(struct db *db, const char *by)
{
	return by ? db__set_variable(db, "grouped_by", duckdb_create_varchar(by)) : 0;
}

static void grouping_take_name(const char *s, size_t sz, void *arg)
{
	struct grouping *g = arg;

	if (g->cnt == GROUPING_MAX) {
		g->others++;
		return;
	}
	g->names[g->cnt] = strndup(s, sz);
	g->failed |= !g->names[g->cnt];
	g->cnt += g->names[g->cnt] != NULL;
}

int grouping__read(struct grouping *g, struct request *r, const char *by)
{
	int err = grouping__use(&r->db, by);
	duckdb_result none = { 0 };

	*g = (struct grouping){ 0 };
	if (!err)
		err = db__run_file(&r->db, "sql/profile/selected_group.sql", &none);
	duckdb_destroy_result(&none);
	if (!err)
		err = request__each_text(r, "sql/profile/groups.sql", grouping_take_name, g);
	if (!err && g->failed) {
		log__error("out of memory");
		err = -ENOMEM;
	}
	return err;
}

size_t grouping__cnt(const struct grouping *g)
{
	return g->cnt + (g->others > 0);
}

const char *grouping__name(const struct grouping *g, size_t idx)
{
	return idx < g->cnt ? g->names[idx] : "[other]";
}

/* A list of the names, for the groups that are not among them, or of none. */
static duckdb_value grouping_list_of_names(const struct grouping *g, size_t cnt)
{
	duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_value names[GROUPING_MAX], list;

	for (size_t i = 0; i < cnt; i++)
		names[i] = duckdb_create_varchar(g->names[i]);
	list = duckdb_create_list_value(type, names, cnt);
	for (size_t i = 0; i < cnt; i++)
		duckdb_destroy_value(&names[i]);
	duckdb_destroy_logical_type(&type);
	return list;
}

static int grouping_set_text(struct db *db, const char *variable, const char *text)
{
	return db__set_variable(db, variable,
				text ? duckdb_create_varchar(text) : duckdb_create_null_value());
}

int grouping__select(const struct grouping *g, struct db *db, size_t idx)
{
	bool is_other = idx == g->cnt && g->others;
	int err = grouping_set_text(db, "selected_group", idx < g->cnt ? g->names[idx] : NULL);

	if (!err)
		err = grouping_set_text(db, "group_label", grouping__name(g, idx));
	if (!err)
		err = db__set_variable(db, "other_groups_than",
				       grouping_list_of_names(g, is_other ? g->cnt : 0));
	return err;
}

void grouping__free(struct grouping *g)
{
	for (size_t i = 0; i < g->cnt; i++)
		free(g->names[i]);
}
