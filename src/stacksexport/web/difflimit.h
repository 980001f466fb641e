/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limit of `stacksexport diff --fail-if 'self > 5%'`. */
#ifndef STACKSEXPORT_WEB_DIFFLIMIT_H
#define STACKSEXPORT_WEB_DIFFLIMIT_H

#include "stacksexport/web/difffunctions.h"

struct diff_limit {
	enum diff_field field;
	double percent; /* of all of A */
};

#define DIFF_LIMIT_FORMS "self, total or all, then '>' and a percentage, such as 'self > 5%'"

/* Returns 0, or -EINVAL if the text has another form. */
int diff_limit__parse(const char *, struct diff_limit *);

/* Returns the index of the function that grew most among those that grew significantly and
 * above the limit; -1 if there is none. */
ssize_t diff_limit__exceeded(const struct diff_limit *, const struct diff_functions *);

#endif
