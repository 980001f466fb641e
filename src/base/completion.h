/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion files for shells, generated from the option tables that argp parses. */
#ifndef BASE_COMPLETION_H
#define BASE_COMPLETION_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* The possible arguments of an option. */
struct completion_words {
	const char *option; /* long name; NULL ends the table */
	const char *words;  /* separated by spaces */
	bool is_list;	    /* the argument is a comma-separated list of words */
};

#define COMPLETION_TABLES 2

/* A subcommand. A program without subcommands is one subcommand without a name. */
struct completion_command {
	const char *name, *summary;
	/* Each ends with an empty row, or is NULL. */
	const struct argp_option *options[COMPLETION_TABLES];
	const char *argument; /* as in the usage: "QUERY.sql"; NULL: none */
};

struct completion {
	const char *program;
	const struct completion_command *commands;
	size_t command_cnt;
	const struct completion_words *words; /* NULL: none */
};

/* The options that argp adds by itself. */
extern const struct argp_option completion_argp_options[];

/* Prints the file for `shell`: bash, zsh or fish. Returns -EINVAL for another shell. */
int completion__print(FILE *, const struct completion *, const char *shell);

#endif
