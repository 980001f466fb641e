// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/s3target.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

static const char *s3target_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Returns base/path without slashes at its end, or NULL. */
static char *s3target_join(const char *base, const char *path)
{
	char *out;
	int n = asprintf(&out, "%s%s%s", base, *path ? "/" : "", path);

	while (n > 0 && out[n - 1] == '/')
		out[--n] = '\0';
	return n < 0 ? NULL : out;
}

static int s3target_read_base(struct s3_target *t, const char *url)
{
	const char *endpoint = s3target_env("AWS_ENDPOINT_URL_S3");
	char amazon[128];

	if (!endpoint)
		endpoint = s3target_env("AWS_ENDPOINT_URL");
	if (!endpoint) {
		snprintf(amazon, sizeof(amazon), "https://s3.%s.amazonaws.com", t->region);
		endpoint = amazon;
	}
	if (strncmp(url, "s3://", 5) != 0) {
		t->base = s3target_join(url, "");
	} else {
		char *clean = s3target_join(endpoint, "");

		t->base = clean && url[5] ? s3target_join(clean, url + 5) : NULL;
		free(clean);
	}
	return t->base ? 0 : -ENOMEM;
}

static char *s3target_trim(char *s)
{
	size_t sz;

	while (isspace((unsigned char)*s))
		s++;
	sz = strlen(s);
	while (sz && isspace((unsigned char)s[sz - 1]))
		s[--sz] = '\0';
	return s;
}

/* One line `name = value` of the section. */
static int s3target_take_line(struct s3_target *t, char *line)
{
	const struct {
		const char *name;
		char **field;
	} fields[] = { { "aws_access_key_id", &t->key },
		       { "aws_secret_access_key", &t->secret },
		       { "aws_session_token", &t->token } };
	char *value = strchr(line, '=');

	if (!value)
		return 0;
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (strcmp(s3target_trim(line), fields[i].name) != 0)
			continue;
		free(*fields[i].field);
		*fields[i].field = strdup(s3target_trim(value));
		return *fields[i].field ? 0 : -ENOMEM;
	}
	return 0;
}

static int s3target_read_section(struct s3_target *t, FILE *f, const char *profile)
{
	bool inside = false;
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	while (!err && getline(&line, &cap, f) > 0) {
		char *text = s3target_trim(line), *end = strchr(text, ']');

		if (*text == '[' && end) {
			*end = '\0';
			inside = strcmp(s3target_trim(text + 1), profile) == 0;
		} else if (inside && *text != '#' && *text != ';') {
			err = s3target_take_line(t, text);
		}
	}
	free(line);
	return err;
}

static int s3target_read_file(struct s3_target *t)
{
	const char *path = s3target_env("AWS_SHARED_CREDENTIALS_FILE"),
		   *home = s3target_env("HOME");
	const char *profile = s3target_env("AWS_PROFILE") ? s3target_env("AWS_PROFILE") : "default";
	char *standard = NULL;
	FILE *f;
	int err;

	if (!path && home && asprintf(&standard, "%s/.aws/credentials", home) < 0)
		return -ENOMEM;
	if (!path)
		path = standard;
	f = path ? fopen(path, "re") : NULL;
	err = f ? s3target_read_section(t, f, profile) : 0;
	if (f)
		fclose(f);
	if (!err && (!t->key || !t->secret)) {
		log__error("there are no credentials: set AWS_ACCESS_KEY_ID and "
			   "AWS_SECRET_ACCESS_KEY, or write them into [%s] of %s",
			   profile, path ? path : "~/.aws/credentials");
		err = -ENOENT;
	}
	free(standard);
	return err;
}

static int s3target_read_credentials(struct s3_target *t)
{
	const char *token = s3target_env("AWS_SESSION_TOKEN");

	if (!s3target_env("AWS_ACCESS_KEY_ID") || !s3target_env("AWS_SECRET_ACCESS_KEY"))
		return s3target_read_file(t);
	t->key = strdup(s3target_env("AWS_ACCESS_KEY_ID"));
	t->secret = strdup(s3target_env("AWS_SECRET_ACCESS_KEY"));
	t->token = token ? strdup(token) : NULL;
	return t->key && t->secret && (!token || t->token) ? 0 : -ENOMEM;
}

int s3_target__read(struct s3_target *t, const char *url)
{
	const char *region = s3target_env("AWS_REGION");
	int err;

	if (!region)
		region = s3target_env("AWS_DEFAULT_REGION");
	*t = (struct s3_target){ .region = strdup(region ? region : "us-east-1") };
	err = t->region ? s3target_read_base(t, url) : -ENOMEM;
	if (!err)
		err = s3target_read_credentials(t);
	if (err == -ENOMEM)
		log__error("out of memory");
	return err;
}

void s3_target__free(struct s3_target *t)
{
	free(t->base);
	free(t->region);
	free(t->key);
	if (t->secret)
		explicit_bzero(t->secret, strlen(t->secret));
	free(t->secret);
	free(t->token);
	*t = (struct s3_target){ 0 };
}
