// SPDX-License-Identifier: GPL-2.0-or-later
/* Which arguments of a chosen place are recorded, and how. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "capture/anyprobe_private.h"
#include "capture/native.h"
#include "capture/usdt_args.h"

#define RESULT_MARK '+' /* before the letter of the result */
#define KEY	    'k' /* the argument that the begin and the end of a span have in common */

/* The letters after '='. */
static const struct arg_letter {
	char letter;
	uint8_t sz, is_signed;
	uint32_t text, text_in_kernel;
} arg_letters[] = {
	{ 'd', 4, 1, ANY_NUMBER, ANY_NUMBER },	{ 'u', 4, 0, ANY_NUMBER, ANY_NUMBER },
	{ 'l', 8, 1, ANY_NUMBER, ANY_NUMBER },	{ 'p', 8, 0, ANY_NUMBER, ANY_NUMBER },
	{ 's', 8, 0, ANY_POINTER, ANY_KERNEL }, { 't', 8, 0, ANY_POINTER, ANY_POINTER },
};

static const struct arg_letter *arg_letter__find(char c)
{
	for (size_t i = 0; i < sizeof(arg_letters) / sizeof(*arg_letters); i++)
		if (arg_letters[i].letter == c)
			return &arg_letters[i];
	return NULL;
}

static int anyargs_wrong_letters(const struct any_wish *w)
{
	log__error("%s:%s=%s: expected up to %d letters, one for each argument that there is: "
		   "d int, u unsigned, l long, p pointer, s text, - none%s",
		   w->target->source->probe, w->target->name, w->args, EVENT_ARG_CNT,
		   w->target->source->at_return ? "; then + and d, u, l or p for the result"
		   : w->target->source->at_end	? ", k key of the span"
						: "");
	return -EINVAL;
}

void found_args__function(struct found_args *args)
{
	const char *bad;

	*args = (struct found_args){ .cnt = EVENT_ARG_CNT };
	for (size_t i = 0; i < EVENT_ARG_CNT; i++)
		usdt_args__parse(native__function_args[i], &args->at[i], 1, &bad);
	usdt_args__parse(native__function_result, &args->result, 1, &bad);
}

void any_args__take(const struct any_wish *w, struct any_site *site, size_t i,
		    const struct any_arg *a)
{
	snprintf(w->place->names[i], sizeof(w->place->names[i]), "arg%zu", i + 1);
	site->args[i] = *a;
}

static struct usdt_arg anyargs_value_of(const struct arg_letter *l, const struct usdt_arg *at)
{
	struct usdt_arg value = *at;

	value.sz = at->sz < l->sz ? at->sz : l->sz;
	value.is_signed = l->is_signed;
	return value;
}

static int anyargs_take_result(const struct any_wish *w, const struct found_args *args,
			       const char *letter, struct any_site *site)
{
	const struct arg_letter *l = arg_letter__find(*letter);

	if (!w->target->source->at_return || !l || l->text != ANY_NUMBER || letter[1])
		return anyargs_wrong_letters(w);
	site->result = anyargs_value_of(l, &args->result);
	return 0;
}

int any_args__apply(const struct any_wish *w, const struct found_args *args, struct any_site *site)
{
	for (size_t i = 0; w->args[i]; i++) {
		const struct arg_letter *l = arg_letter__find(w->args[i]);

		if (w->args[i] == RESULT_MARK)
			return anyargs_take_result(w, args, &w->args[i + 1], site);
		if (w->args[i] == KEY && w->target->source->at_end && i < args->cnt) {
			site->key = args->at[i];
			continue;
		}
		if (i == args->cnt || (!l && w->args[i] != '-'))
			return anyargs_wrong_letters(w);
		if (!l)
			continue;
		any_args__take(
			w, site, i,
			&(struct any_arg){ .value = anyargs_value_of(l, &args->at[i]),
					   .text = args->in_kernel ? l->text_in_kernel : l->text });
	}
	return 0;
}
