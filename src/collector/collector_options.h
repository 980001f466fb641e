/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The collector's command line. */
#ifndef COLLECTOR_COLLECTOR_OPTIONS_H
#define COLLECTOR_COLLECTOR_OPTIONS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "collector/condition.h"
#include "store/recording.h"

enum unwinder_kind { UNWINDER_TABLES, UNWINDER_NAIVE };

/* The options as they were given, those of files and presets too, in order. */
struct given_option {
	int key;
	char *value; /* NULL: none */
};
struct given_options {
	struct given_option *v;
	size_t cnt;
};

struct collector_options {
	struct probe_choice probes[PROBE_CHOICE_MAX];
	struct capture_options capture; /* points into this struct */
	struct recording_options recording;
	char **texts; /* of configurations and presets, to which other members point */
	size_t text_cnt;
	const struct config_text *config; /* the one that is being read; NULL: the command line */
	struct given_options given;
	char **args;		      /* copy of the command line up to "--", ends with NULL */
	jmp_buf *again;		      /* not NULL: where a mistake leads; else the program ends */
	bool has_config;	      /* there was a --config */
	struct condition *conditions; /* of --when */
	size_t condition_cnt;
	bool batch_given;
	char *sources;	      /* names of the probes, "profile,switch" */
	uint64_t duration_ns; /* 0: until a signal or the command's end */
	uint64_t poll_ns;
	uint32_t budget_percent; /* of one CPU, for BPF programs and this process; 0: none */
	size_t max_memory_sz;	 /* see collector/memory.h */
	uint64_t bill_ns; /* interval at which the cost of the BPF programs is printed; 0: only at
			     the end */
	enum unwinder_kind unwinder;
	uint32_t runtimes;	  /* a bit for each row of runtimes_table */
	const char *status_path;  /* NULL: no status file */
	const char *metrics_path; /* NULL: no file of metrics */
	const char *cache_dir;	  /* for compiled call-frame tables; NULL: they are not kept */
	char **command; /* argv of the command to launch, NULL without one; borrowed from argv */
	bool all;	/* with a command: record the whole system anyway */
	bool keep_root;
	bool no_sandbox; /* read files of others in this process */
	bool stitch;	 /* see unwind/stitch.h */
	bool list;	 /* print the probes and end */
	bool dump;	 /* trigger the running collector and end */
	bool quiet, verbose;
};

/* Parses argv; prints and exits for --help, --version and errors (status 2), as argp does. */
void options__parse(struct collector_options *, int argc, char **argv);
/* Parses the same command line once more, with the present content of its files. Returns 0, or
 * -EINVAL after logging a mistake. Call options__free() in both cases. */
int options__parse_again(struct collector_options *fresh, const struct collector_options *);
void options__free(struct collector_options *);
/* Returns DUR of switch::DUR; 0: slices are not joined. */
uint64_t options__join_min_ns(const struct collector_options *);
/* Returns true if a probe takes kernel stacks. */
bool options__kernel_stacks(const struct collector_options *);

#endif
