/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of anyprobe.h: how a choice is found, and what is needed to attach to it. */
#ifndef CAPTURE_ANYPROBE_PRIVATE_H
#define CAPTURE_ANYPROBE_PRIVATE_H

#include "capture/anyprobe.h"
#include "capture/uprobes.h"
#include "elf/elffile.h"

struct any_wish;
struct bpf_link;
struct bpf_program;

/* A kind of places, and how one is found. */
struct any_source {
	const char *probe;
	int (*find)(const struct any_wish *); /* returns 0 or -errno (logged) */
	struct bpf_program *(*program)(struct collector_bpf *);
	/* runs when the function returns; NULL: none */
	struct bpf_program *(*at_return)(struct collector_bpf *);
	/* runs at the end of a span; NULL: there is none */
	struct bpf_program *(*at_end)(struct collector_bpf *);
};

/* What a choice needs to be attached. */
struct any_target {
	char *name; /* the choice's text without arguments and tests */
	const struct any_source *source;
	struct elf_file *file; /* NULL: the place is in the kernel */
	struct uprobe_places places;
	uint64_t tracepoint_id; /* 0: it is a function of the kernel */
	uint32_t site_idx;	/* of a place in the kernel */
	struct bpf_link *link;
};

struct any_probes {
	struct workers *workers; /* read the files; borrowed, until they are read; NULL: none */
	bool multi;
	/* by the index of the choice: */
	struct any_place places[PROBE_CHOICE_MAX];
	struct any_target targets[PROBE_CHOICE_MAX];
	struct any_target ends[PROBE_CHOICE_MAX]; /* of spans */
	char *span_names[PROBE_CHOICE_MAX];	  /* BEGIN..END */
	struct any_site sites[ANY_SITE_CNT];	  /* of all, all different */
	uint32_t site_cnt;
	struct uprobes *uprobes; /* NULL: not attached */
};

/* How a choice is found. `args` follows the '=', and `tests` the '?', or they are NULL. */
struct any_wish {
	struct any_probes *probes;
	struct any_place *place; /* its site has the choice and the stacks */
	struct any_target *target;
	char *args, *tests;
};

/* Cuts arguments and tests off the target's name. */
void any_wish__cut(struct any_wish *);

/* Logs what is wrong with the choice. Returns -EINVAL. */
int any_target__wrong(const struct any_target *, const char *why);

/* anyplaces.c */
int any_places__function(const struct any_wish *);
int any_places__call(const struct any_wish *);
int any_places__note(const struct any_wish *);
int any_places__span(const struct any_wish *);
int any_places__tracepoint(const struct any_wish *);
int any_places__kernel_function(const struct any_wish *);

/* anyargs.c: where a place has its arguments. */
struct found_args {
	struct usdt_arg at[EVENT_ARG_CNT];
	size_t cnt;
	struct usdt_arg result; /* .sz 0: the place has none */
	bool in_kernel;
};

/* The first arguments of any function of this machine. */
void found_args__function(struct found_args *);
/* Applies the letters of the wish. Returns 0 or -EINVAL (logged). */
int any_args__apply(const struct any_wish *, const struct found_args *, struct any_site *);
/* Takes argument i as a number, with the name "argN". */
void any_args__take(const struct any_wish *, struct any_site *, size_t i, const struct any_arg *);

/* anytests.c: parses the tests into the site, which has its arguments. Returns 0 or -EINVAL
 * (logged). */
int any_tests__parse(const struct any_wish *, struct any_site *);

#endif
