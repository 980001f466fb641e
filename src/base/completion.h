/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion files for shells, made from the tables of options that argp parses. */
#ifndef BASE_COMPLETION_H
#define BASE_COMPLETION_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* Lists what an option's argument may be. */
struct completion_words {
	const char *option; /* long name; NULL ends the table */
	const char *words;  /* separated by spaces */
	bool is_list;	    /* the argument is a comma-separated list of words */
};

#define COMPLETION_TABLES 2

/* A subcommand; a program that has none is one subcommand without a name. */
struct completion_command {
	const char *name, *summary;
	const struct argp_option
		*options[COMPLETION_TABLES]; /* each ends with an empty row, or is NULL */
	const char *argument;		     /* as in the usage: "QUERY.sql"; NULL: none */
};

struct completion {
	const char *program;
	const struct completion_command *commands;
	size_t command_cnt;
	const struct completion_words *words; /* NULL: none */
};

/* argp adds these options by itself. */
extern const struct argp_option completion_argp_options[];

/* Prints the file for `shell`: bash, zsh or fish. Returns -EINVAL for another shell. */
int completion__print(FILE *, const struct completion *, const char *shell);

#endif
