// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/users.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define USERS_MAX 65536

struct user {
	uint32_t uid;
	char name[33]; /* useradd(8) takes 32 bytes; longer names are cut */
};

struct users {
	struct user *list; /* in the order of the file: the first name of a uid counts */
	size_t cnt, cap;
};

static void users_read(struct users *u, FILE *f)
{
	struct passwd pw, *found;
	char room[4096];

	while (u->cnt < USERS_MAX && fgetpwent_r(f, &pw, room, sizeof(room), &found) == 0) {
		struct user *list = array__room(u->list, u->cnt, &u->cap, sizeof(*list));

		if (!list)
			return;
		u->list = list;
		list[u->cnt].uid = pw.pw_uid;
		snprintf(list[u->cnt].name, sizeof(list->name), "%s", pw.pw_name);
		u->cnt++;
	}
}

struct users *users__new(const char *path)
{
	struct users *u = calloc(1, sizeof(*u));
	FILE *f = u ? fopen(path, "re") : NULL;

	if (f) {
		users_read(u, f);
		fclose(f);
	}
	return u;
}

void users__free(struct users *u)
{
	if (!u)
		return;
	free(u->list);
	free(u);
}

const char *users__name(const struct users *u, uint32_t uid)
{
	for (size_t i = 0; i < u->cnt; i++)
		if (u->list[i].uid == uid)
			return u->list[i].name;
	return NULL;
}
