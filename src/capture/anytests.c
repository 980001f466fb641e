// SPDX-License-Identifier: GPL-2.0-or-later
/* Which events of a chosen place are recorded: arg1>4096&arg2=SELECT*&duration>10ms. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "capture/anyprobe_private.h"

#define TEST_MAX 256 /* bytes of the text of all tests */

/* The longer ones first. */
static const struct test_op {
	const char *text;
	enum any_op op;
} test_ops[] = {
	{ "==", ANY_EQ }, { "!=", ANY_NE }, { "<=", ANY_LE }, { ">=", ANY_GE },
	{ "=", ANY_EQ },  { "<", ANY_LT },  { ">", ANY_GT },
};

static int anytests_wrong_test(const struct any_wish *w, const char *test, const char *why)
{
	log__error("%s:%s: the test '%s': %s", w->target->source->probe, w->target->name, test,
		   why);
	return -EINVAL;
}

static const struct test_op *test_op__at(const char *at)
{
	for (size_t i = 0; i < sizeof(test_ops) / sizeof(*test_ops); i++)
		if (!strncmp(at, test_ops[i].text, strlen(test_ops[i].text)))
			return &test_ops[i];
	return NULL;
}

static bool anytests_is_word(const char *name, size_t sz, const char *word)
{
	return strlen(word) == sz && !strncmp(name, word, sz);
}

/* Returns the index of what is tested, or -1. */
static int anytests_subject_of(const struct any_wish *w, const struct any_site *site,
			       const char *name, size_t sz)
{
	for (int i = 0; i < EVENT_ARG_CNT; i++)
		if (site->args[i].value.sz && anytests_is_word(name, sz, w->place->names[i]))
			return i;
	if (site->result.sz && anytests_is_word(name, sz, "result"))
		return ANY_RESULT;
	if (w->target->source->at_return && anytests_is_word(name, sz, "duration"))
		return ANY_DURATION;
	return -1;
}

/* Returns false if it is no number. */
static bool anytests_parse_number(const char *text, uint64_t *v)
{
	char *end;

	errno = 0;
	if (*text == '-')
		*v = (uint64_t)strtoll(text, &end, 0);
	else
		*v = strtoull(text, &end, 0);
	return (isdigit((unsigned char)*text) || *text == '-') && !*end && !errno;
}

/* A text that ends with '*' stands for all that begin like it. */
static bool anytests_parse_text(const char *text, struct any_test *t)
{
	size_t sz = strlen(text);
	bool is_prefix = sz && text[sz - 1] == '*';
	size_t compared = is_prefix ? sz - 1 : sz + 1;

	if (compared > sizeof(t->value) - is_prefix || (t->op != ANY_EQ && t->op != ANY_NE))
		return false;
	memcpy(t->value, text, is_prefix ? sz - 1 : sz);
	memset(t->mask, 0xff, compared);
	return true;
}

static int anytests_parse_value(const struct any_wish *w, const struct any_site *site,
				const char *test, struct any_test *t)
{
	const char *value = test + strcspn(test, "=!<>");
	bool is_text = t->subject < EVENT_ARG_CNT && site->args[t->subject].text != ANY_NUMBER;
	uint64_t v = 0;

	value += strlen(test_op__at(value)->text);
	if (is_text)
		return anytests_parse_text(value, t)
			       ? 0
			       : anytests_wrong_test(
					 w, test, "texts are compared by = and !=, up to 31 bytes");
	if (t->subject == ANY_DURATION && parse__duration(value, &v) != 0)
		return anytests_wrong_test(w, test, "expected a time such as 500us, 10ms");
	if (t->subject != ANY_DURATION && !anytests_parse_number(value, &v))
		return anytests_wrong_test(w, test, "expected a number");
	t->value[0] = v;
	return 0;
}

static int anytests_parse_test(const struct any_wish *w, struct any_site *site, const char *test,
			       struct any_test *t)
{
	size_t name_sz = strcspn(test, "=!<>");
	const struct test_op *op = test_op__at(test + name_sz);
	int subject = anytests_subject_of(w, site, test, name_sz);

	if (!op)
		return anytests_wrong_test(w, test,
					   "expected NAME, one of = != < <= > >=, and a value");
	if (subject < 0)
		return anytests_wrong_test(
			w, test,
			w->target->source->at_return
				? "it names no recorded argument, result or duration"
				: "it names no recorded argument");
	*t = (struct any_test){ .op = op->op, .subject = (uint32_t)subject };
	return anytests_parse_value(w, site, test, t);
}

int any_tests__parse(const struct any_wish *w, struct any_site *site)
{
	char copy[TEST_MAX], *rest = copy;
	size_t cnt = 0;
	int err = 0;

	if (!w->tests)
		return 0;
	if (strlen(w->tests) >= sizeof(copy))
		return anytests_wrong_test(w, w->tests, "too long");
	memcpy(copy, w->tests, strlen(w->tests) + 1);
	for (char *test; !err && (test = strsep(&rest, "&")) != NULL; cnt++) {
		if (cnt == ANY_TEST_CNT)
			return anytests_wrong_test(w, test, "there are too many");
		err = anytests_parse_test(w, site, test, &site->tests[cnt]);
	}
	return err;
}
