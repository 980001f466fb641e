// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/tracepoint.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"

#define FORMAT_SZ  65536
#define NAME_SZ	   128
#define OFFSET_MAX 8192 /* PERF_MAX_TRACE_SIZE */

/* ---- the format -------------------------------------------------------------------------------
 */

/* "	field:const char * filename;	offset:24;	size:8;	signed:0;" */
struct tracepoint_field {
	const char *type; /* with what follows the name: char prev_comm[16] */
	size_t type_sz;
	const char *name;
	size_t name_sz;
	unsigned off, sz, is_signed;
};

static bool tracepoint_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns false if the line describes no field. */
static bool tracepoint_parse_field(const char *line, struct tracepoint_field *f)
{
	static const char begin[] = "field:";
	const char *at = line + strspn(line, "\t "), *end = strchr(at, ';'), *name;

	if (!end || strncmp(at, begin, strlen(begin)) != 0 ||
	    sscanf(end, ";\toffset:%u;\tsize:%u;\tsigned:%u;", &f->off, &f->sz, &f->is_signed) != 3)
		return false;
	f->type = at + strlen(begin);
	f->type_sz = (size_t)(end - f->type);
	name = end;
	if (name[-1] == ']')
		while (name > f->type && *name != '[')
			name--;
	for (f->name_sz = 0; name > f->type && tracepoint_is_name(name[-1]); f->name_sz++)
		name--;
	f->name = name;
	return f->name_sz > 0 && f->off < OFFSET_MAX;
}

static bool field__has(const struct tracepoint_field *f, const char *word)
{
	return memmem(f->type, f->type_sz, word, strlen(word)) != NULL;
}

/* Returns false if it is neither a number nor a text. */
static bool field__argument(const struct tracepoint_field *f, bool users, struct any_arg *a)
{
	bool is_text = field__has(f, "char"), is_array = f->type[f->type_sz - 1] == ']';

	*a = (struct any_arg){
		.value = { .add = f->off, .sz = (uint8_t)f->sz, .is_signed = f->is_signed != 0 }
	};
	if (field__has(f, "__rel_loc"))
		return false;
	if (field__has(f, "__data_loc"))
		a->text = ANY_LOCATED;
	else if (is_text && is_array)
		a->text = ANY_INLINE;
	else if (is_text && field__has(f, "*"))
		a->text = users ? ANY_POINTER : ANY_KERNEL;
	if (a->text == ANY_INLINE)
		a->value.sz = 1; /* only its place is used */
	/* the argument of a system call is a word, whatever its type is */
	if (users && f->sz == 8 && strncmp(f->type, "int ", 4) == 0) {
		a->value.sz = 4;
		a->value.is_signed = 1;
	}
	return (a->text != ANY_LOCATED || is_text) &&
	       (a->text != ANY_NUMBER ||
		(!is_array && f->sz && !(f->sz & (f->sz - 1)) && f->sz <= 8));
}

static bool tracepoint_is_common(const struct tracepoint_field *f)
{
	return strncmp(f->name, "common_", strlen("common_")) == 0 ||
	       strncmp(f->name, "__syscall_nr", f->name_sz) == 0;
}

/* Returns the next line, or NULL. */
static const char *tracepoint_next_line(const char *at)
{
	at = strchr(at, '\n');
	return at ? at + 1 : NULL;
}

/* Finds a field by its name, or with a NULL name the next one that can be recorded. */
static bool tracepoint_find_field(const char **line, const char *name, size_t name_sz,
				  struct tracepoint_field *f)
{
	for (; *line; *line = tracepoint_next_line(*line)) {
		if (!tracepoint_parse_field(*line, f))
			continue;
		if (name ? f->name_sz == name_sz && !memcmp(f->name, name, name_sz)
			 : !tracepoint_is_common(f))
			return true;
	}
	return false;
}

static void tracepoint_add_argument(struct any_place *p, size_t i, const struct tracepoint_field *f,
				    const struct any_arg *a)
{
	p->site.args[i] = *a;
	snprintf(p->names[i], sizeof(p->names[i]), "%.*s", (int)f->name_sz, f->name);
}

static int tracepoint_first_fields(const char *format, bool users, struct any_place *p)
{
	const char *line = format;
	struct tracepoint_field f;
	struct any_arg a;
	int cnt = 0;

	for (; cnt < EVENT_ARG_CNT && tracepoint_find_field(&line, NULL, 0, &f);
	     line = tracepoint_next_line(line))
		if (field__argument(&f, users, &a))
			tracepoint_add_argument(p, (size_t)cnt++, &f, &a);
	return cnt;
}

int tracepoint__parse(const char *format, const struct tracepoint_wish *wish, struct any_place *p,
		      const char **wrong)
{
	int cnt = 0;

	if (!wish->fields)
		return tracepoint_first_fields(format, wish->users, p);
	for (const char *name = wish->fields; name; cnt++) {
		const char *plus = strchr(name, '+'), *line = format;
		size_t sz = plus ? (size_t)(plus - name) : strlen(name);
		struct tracepoint_field f;
		struct any_arg a;

		*wrong = name;
		if (cnt == EVENT_ARG_CNT || !tracepoint_find_field(&line, name, sz, &f) ||
		    !field__argument(&f, wish->users, &a))
			return -EINVAL;
		tracepoint_add_argument(p, (size_t)cnt, &f, &a);
		name = plus ? plus + 1 : NULL;
	}
	return cnt;
}

/* ---- tracefs ----------------------------------------------------------------------------------
 */

/* Returns a descriptor of tracefs, in a mount that only this process sees, or -errno. */
static int tracepoint_mount_tracefs(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd = -1, err = 0;

	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		err = -errno;
	close(fs);
	return err ? err : fd;
}

/* Mounting needs CAP_SYS_ADMIN: without it, uses the usual mount. */
static int tracepoint_open_tracefs(void)
{
	int err = tracepoint_mount_tracefs(), fd;

	if (err >= 0)
		return err;
	fd = open("/sys/kernel/tracing", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && faccessat(fd, "events", X_OK, 0) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Reads a file of the tracepoint as text. Returns 0 or -errno. */
static int tracepoint_read_file(int tracefs, const char *tracepoint, const char *file,
				char text[FORMAT_SZ])
{
	size_t group_sz = strcspn(tracepoint, ":");
	char path[2 * NAME_SZ];
	ssize_t n, sz = 0;
	int fd;

	snprintf(path, sizeof(path), "events/%.*s/%s/%s", (int)group_sz, tracepoint,
		 tracepoint + group_sz + 1, file);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (sz < FORMAT_SZ - 1 && (n = read(fd, text + sz, (size_t)(FORMAT_SZ - 1 - sz))) > 0)
		sz += n;
	close(fd);
	text[sz] = '\0';
	return 0;
}

/* The file of a tracepoint that is being described. */
struct description {
	int tracefs;
	const char *fields;
	char text[FORMAT_SZ];
};

static int tracepoint_explain_missing(const struct any_place *p, int err, const char *wrong)
{
	if (err == -ENOENT)
		log__error("tracepoint:%s: the kernel has no such tracepoint", p->name);
	else if (err != -EINVAL)
		log__error("tracepoint:%s: %s", p->name, strerror(-err));
	else
		log__error("tracepoint:%s: '%.*s' is not one of up to %d fields that are numbers "
			   "or texts",
			   p->name, (int)strcspn(wrong, "+"), wrong, EVENT_ARG_CNT);
	return err;
}

static int tracepoint_describe(struct description *d, struct any_place *p, uint64_t *id)
{
	struct tracepoint_wish wish = { d->fields, strncmp(p->name, "syscalls:", 9) == 0 };
	const char *wrong = "";
	int err = tracepoint_read_file(d->tracefs, p->name, "id", d->text);

	d->text[strcspn(d->text, "\n")] = '\0';
	if (!err && parse__u64(d->text, id))
		err = -ENOENT;
	if (!err)
		err = tracepoint_read_file(d->tracefs, p->name, "format", d->text);
	if (!err && tracepoint__parse(d->text, &wish, p, &wrong) < 0)
		err = -EINVAL;
	return err ? tracepoint_explain_missing(p, err, wrong) : 0;
}

int tracepoint__describe(struct any_place *p, const char *fields, uint64_t *id)
{
	struct description *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	d->fields = fields;
	d->tracefs = tracepoint_open_tracefs();
	err = d->tracefs < 0 ? d->tracefs : tracepoint_describe(d, p, id);
	if (d->tracefs >= 0)
		close(d->tracefs);
	else
		log__error("tracepoint:%s: cannot read tracefs: %s", p->name, strerror(-err));
	free(d);
	return err;
}
