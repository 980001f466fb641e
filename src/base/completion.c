// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/completion.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

const struct argp_option completion_argp_options[] = {
	{ "help", '?', 0, 0, "Give this help list", 0 },
	{ "usage", -1, 0, 0, "Give a short usage message", 0 },
	{ "version", 'V', 0, 0, "Print program version", 0 },
	{ 0 },
};

/* How each shell completes an argument, by its name in the usage. */
struct argument_kind {
	const char *name; /* NULL: any other name */
	const char *bash; /* arguments of compgen */
	const char *zsh;  /* an action of _arguments */
	const char *fish; /* arguments of complete */
};

static const struct argument_kind kinds[] = {
	{ "DIR", "-d", "_files -/", "-x -a '(__fish_complete_directories)'" },
	{ "FILE", "-f", "_files", "-r -F" },
	{ "PATH", "-f", "_files", "-r -F" },
	{ "ELF", "-f", "_files", "-r -F" },
	{ "RECORDING", "-f", "_files", "-r -F" },
	{ "QUERY.sql", "-f", "_files", "-F" },
	{ "QUERY.sql...", "-f", "_files", "-F" },
	{ "[COMM]… | -- COMMAND", "-c", "_command_names -e",
	  "-x -a '(__fish_complete_subcommand)'" },
	{ "USER", "-u", "_users", "-x -a '(__fish_complete_users)'" },
	{ "PID", "-W \"$(cd /proc && echo [0-9]*)\"", "_pids", "-x -a '(__fish_complete_pids)'" },
	{ NULL, "-W ''", " ", "-x" },
};

static const struct argument_kind *argument_kind__find(const char *name)
{
	const struct argument_kind *k = kinds;

	while (k->name && (!name || strcmp(k->name, name) != 0))
		k++;
	return k;
}

static const struct completion_words *words__find(const struct completion *c, const char *option)
{
	const struct completion_words *w = c->words;

	while (w && w->option && strcmp(w->option, option) != 0)
		w++;
	return w && w->option ? w : NULL;
}

static bool option__is_shown(const struct argp_option *o)
{
	return o->name && !(o->flags & OPTION_HIDDEN);
}

static bool option__has_letter(const struct argp_option *o)
{
	return o->key > 0 && o->key < 256 && isgraph(o->key);
}

/* Returns the next option that --help shows, from `o` on, or NULL. */
static const struct argp_option *option__next(const struct argp_option *o)
{
	while (o && (o->name || o->key || o->doc) && !option__is_shown(o))
		o++;
	return o && option__is_shown(o) ? o : NULL;
}

#define FOR_EACH_OPTION(o, command)                                                             \
	for (size_t table_ = 0; table_ < COMPLETION_TABLES; table_++)                           \
		for (const struct argp_option *o = option__next((command)->options[table_]); o; \
		     o = option__next(o + 1))

/* Prints the first clause of a description, for single quotes of zsh and fish. */
static void completion_print_summary(FILE *f, const char *doc, const char *escaped)
{
	for (; *doc && *doc != ';' && strncmp(doc, " (", 2) != 0 && strncmp(doc, ". ", 2) != 0;
	     doc++) {
		if (*doc == '\'')
			fputs("'\\''", f);
		else if (strchr(escaped, *doc))
			fprintf(f, "\\%c", *doc);
		else
			fputc(*doc, f);
	}
}

/* ---- bash ---- */

static void bash__print_argument(FILE *f, const struct completion *c, const struct argp_option *o)
{
	const struct completion_words *w = words__find(c, o->name);

	if (option__has_letter(o))
		fprintf(f, "-%c | ", o->key);
	fprintf(f, "--%s) ", o->name);
	if (w)
		fprintf(f, "_%s_reply %s -W '%s'", c->program, w->is_list ? "list" : "word",
			w->words);
	else
		fprintf(f, "_%s_reply word %s", c->program, argument_kind__find(o->arg)->bash);
	fputs("; return ;;\n", f);
}

static void bash__print_options(FILE *f, const struct completion_command *command)
{
	const char *between = "";

	FOR_EACH_OPTION(o, command)
	{
		fprintf(f, "%s--%s", between, o->name);
		between = " ";
		if (option__has_letter(o))
			fprintf(f, " -%c", o->key);
	}
}

/* Prints the case of one subcommand. */
static void bash__print_command(FILE *f, const struct completion *c,
				const struct completion_command *command)
{
	fprintf(f, "\t%s)\n\t\tcase $prev in\n", command->name ? command->name : "*");
	FOR_EACH_OPTION(o, command)
	{
		if (!o->arg)
			continue;
		fputs("\t\t", f);
		bash__print_argument(f, c, o);
	}
	fputs("\t\tesac\n\t\toptions='", f);
	bash__print_options(f, command);
	fprintf(f, "'\n\t\targument=(%s)\n\t\t;;\n", argument_kind__find(command->argument)->bash);
}

static void bash__print_commands(FILE *f, const struct completion *c)
{
	fputs("\t*)\n\t\toptions='--help --version'\n\t\targument=(-W '", f);
	for (size_t i = 0; i < c->command_cnt; i++)
		fprintf(f, "%s%s", i ? " " : "", c->commands[i].name);
	fputs("')\n\t\t;;\n", f);
}

static const char bash_head[] =
	"# bash completion of %1$s\n\n"
	"# Usage: _%1$s_reply word|list ARGUMENT-OF-compgen...\n"
	"_%1$s_reply() {\n"
	"\tlocal how=$1 before=\n"
	"\tshift\n"
	"\tif [ \"$how\" = list ]; then\n"
	"\t\tbefore=${cur%%\"${cur##*,}\"}\n"
	"\t\tcompopt -o nospace 2>/dev/null\n"
	"\tfi\n"
	"\tcase $1 in -[df]) compopt -o filenames 2>/dev/null ;; esac\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$before\" \"$@\" -- \"${cur#\"$before\"}\")\n"
	"}\n\n"
	"_%1$s() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	"\tlocal options argument\n"
	"\t# bash makes three words of --option=value.\n"
	"\tif [ \"$cur\" = = ]; then\n"
	"\t\tcur=\n"
	"\telif [ \"$prev\" = = ]; then\n"
	"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tcase %2$s in\n";

static const char bash_tail[] = "\tesac\n"
				"\tcase $cur in\n"
				"\t-*) _%1$s_reply word -W \"$options\" ;;\n"
				"\t*) _%1$s_reply word \"${argument[@]}\" ;;\n"
				"\tesac\n"
				"}\n\n"
				"complete -F _%1$s %1$s\n";

static void bash__print(FILE *f, const struct completion *c)
{
	bool has_commands = c->commands[0].name;

	/* The word being completed is not yet a subcommand. */
	fprintf(f, bash_head, c->program,
		has_commands ? "$([ $COMP_CWORD -gt 1 ] && echo \"${COMP_WORDS[1]}\")" : "$cur");
	for (size_t i = 0; i < c->command_cnt; i++)
		bash__print_command(f, c, &c->commands[i]);
	if (has_commands)
		bash__print_commands(f, c);
	fprintf(f, bash_tail, c->program);
}

/* ---- zsh ---- */

static void zsh__print_option(FILE *f, const struct completion *c, const struct argp_option *o)
{
	const struct completion_words *w = words__find(c, o->name);

	fputs("\t\t", f);
	/* A star: an option that was given is offered again. */
	if (option__has_letter(o))
		fprintf(f, "\\*{-%s%c%s,--%s%s}", o->key == '?' ? "\\" : "", o->key,
			o->arg ? "+" : "", o->name, o->arg ? "=" : "");
	else
		fprintf(f, "\\*--%s%s", o->name, o->arg ? "=" : "");
	fputs("'[", f);
	completion_print_summary(f, o->doc ? o->doc : "", "[]:\\");
	fputs("]", f);
	if (o->arg && w && w->is_list)
		fprintf(f, ":%s:_values -s , %s %s", o->arg, o->arg, w->words);
	else if (o->arg && w)
		fprintf(f, ":%s:(%s)", o->arg, w->words);
	else if (o->arg)
		fprintf(f, ":%s:%s", o->arg, argument_kind__find(o->arg)->zsh);
	fputs("' \\\n", f);
}

static void zsh__print_command(FILE *f, const struct completion *c,
			       const struct completion_command *command)
{
	fprintf(f, "\t%s)\n\t\t_arguments -s \\\n", command->name ? command->name : "*");
	FOR_EACH_OPTION(o, command)
	zsh__print_option(f, c, o);
	if (command->argument)
		fprintf(f, "\t\t'*::argument:%s'\n", argument_kind__find(command->argument)->zsh);
	else
		fputs("\t\t'*: :'\n", f);
	fputs("\t\t;;\n", f);
}

static void zsh__print_commands(FILE *f, const struct completion *c)
{
	fputs("\t*)\n\t\tlocal -a commands=(\n", f);
	for (size_t i = 0; i < c->command_cnt; i++) {
		fprintf(f, "\t\t\t'%s:", c->commands[i].name);
		completion_print_summary(f, c->commands[i].summary, ":\\");
		fputs("'\n", f);
	}
	fputs("\t\t)\n\t\t_describe command commands\n\t\t_arguments --help --version\n\t\t;;\n",
	      f);
}

static void zsh__print(FILE *f, const struct completion *c)
{
	bool has_commands = c->commands[0].name;

	fprintf(f, "#compdef %s\n\n_%s() {\n", c->program, c->program);
	if (has_commands) /* in a subcommand, _arguments counts words from the subcommand on */
		fputs("\tlocal command=\n\tif (( CURRENT > 2 )); then\n\t\tcommand=$words[2]\n"
		      "\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n",
		      f);
	fprintf(f, "\tcase %s in\n", has_commands ? "$command" : "$service");
	for (size_t i = 0; i < c->command_cnt; i++)
		zsh__print_command(f, c, &c->commands[i]);
	if (has_commands)
		zsh__print_commands(f, c);
	fprintf(f,
		"\tesac\n}\n\nif [ \"$funcstack[1]\" = _%1$s ]; then\n\t_%1$s \"$@\"\nelse\n"
		"\tcompdef _%1$s %1$s\nfi\n",
		c->program);
}

/* ---- fish ---- */

static void fish__print_option(FILE *f, const struct completion *c, const char *condition,
			       const struct argp_option *o)
{
	const struct completion_words *w = words__find(c, o->name);

	fprintf(f, "complete -c %s%s", c->program, condition);
	if (option__has_letter(o))
		fprintf(f, " -s '%c'", o->key);
	fprintf(f, " -l %s", o->name);
	if (o->arg && w && w->is_list)
		fprintf(f, " -x -a \"(__fish_append , (string split ' ' '%s'))\"", w->words);
	else if (o->arg && w)
		fprintf(f, " -x -a '%s'", w->words);
	else if (o->arg)
		fprintf(f, " %s", argument_kind__find(o->arg)->fish);
	fputs(" -d '", f);
	completion_print_summary(f, o->doc ? o->doc : "", "\\");
	fputs("'\n", f);
}

static void fish__print_command(FILE *f, const struct completion *c,
				const struct completion_command *command)
{
	char condition[128] = "";

	if (command->name) {
		fprintf(f, "complete -c %s -n __fish_use_subcommand -f -a %s -d '", c->program,
			command->name);
		completion_print_summary(f, command->summary, "\\");
		fputs("'\n", f);
		snprintf(condition, sizeof(condition), " -n '__fish_seen_subcommand_from %s'",
			 command->name);
	}
	FOR_EACH_OPTION(o, command)
	fish__print_option(f, c, condition, o);
	if (command->argument)
		fprintf(f, "complete -c %s%s %s\n", c->program, condition,
			argument_kind__find(command->argument)->fish);
}

static void fish__print(FILE *f, const struct completion *c)
{
	fprintf(f, "# fish completion of %s\ncomplete -c %s -f\n", c->program, c->program);
	for (size_t i = 0; i < c->command_cnt; i++)
		fish__print_command(f, c, &c->commands[i]);
	if (c->commands[0].name)
		fprintf(f,
			"complete -c %1$s -n __fish_use_subcommand -s h -l help\n"
			"complete -c %1$s -n __fish_use_subcommand -s v -l version\n",
			c->program);
}

static const struct {
	const char *name;
	void (*print)(FILE *, const struct completion *);
} shells[] = { { "bash", bash__print }, { "zsh", zsh__print }, { "fish", fish__print } };

int completion__print(FILE *f, const struct completion *c, const char *shell)
{
	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].print(f, c);
		return 0;
	}
	return -EINVAL;
}
