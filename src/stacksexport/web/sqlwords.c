// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/web/sqlwords.h"

#include <string.h>

static const char *sqlwords_skip_space(const char *s)
{
	for (;;) {
		s += strspn(s, " \t\r\n\f\v");
		if (strncmp(s, "--", 2) == 0)
			s += strcspn(s, "\n");
		else if (strncmp(s, "/*", 2) == 0 && strstr(s + 2, "*/"))
			s = strstr(s + 2, "*/") + 2;
		else
			return s;
	}
}

/* Takes the word from the text if it comes next. */
static bool sqlwords_take_word(const char **s, const char *word)
{
	const char *at = sqlwords_skip_space(*s);
	size_t sz = strlen(word);

	if (strncasecmp(at, word, sz) != 0 || strspn(at + sz, " \t\r\n\f\v-/") == 0)
		return false;
	*s = at + sz;
	return true;
}

bool sql_words__are_temporary(const char *sql)
{
	if (sqlwords_take_word(&sql, "SET"))
		return sqlwords_take_word(&sql, "VARIABLE");
	if (!sqlwords_take_word(&sql, "CREATE"))
		return false;
	if (sqlwords_take_word(&sql, "OR") && !sqlwords_take_word(&sql, "REPLACE"))
		return false;
	return (sqlwords_take_word(&sql, "TEMP") || sqlwords_take_word(&sql, "TEMPORARY")) &&
	       (sqlwords_take_word(&sql, "TABLE") || sqlwords_take_word(&sql, "VIEW") ||
		sqlwords_take_word(&sql, "MACRO"));
}
