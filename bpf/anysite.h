/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe that the user chose by its place, as user space describes it to the programs. */
#ifndef BPF_ANYSITE_H
#define BPF_ANYSITE_H

#include "bpf/event.h"
#include "bpf/usdt_site.h"

#define ANY_SITE_CNT 256

enum any_text {
	ANY_NUMBER,
	ANY_POINTER, /* the value is the address of a text in the program's memory */
	ANY_KERNEL,  /* … in the kernel's */
	ANY_INLINE,  /* the text is in the record of the tracepoint */
	ANY_LOCATED, /* the lower half of the value is the text's offset in the record */
};

struct any_arg {
	/* Tracepoint: the value has .sz bytes at the offset .add of the record. */
	struct usdt_arg value; /* .sz 0: there is no such argument */
	__u32 text;	       /* enum any_text */
	__u32 unused;
};

#define ANY_TEST_CNT	  4
#define ANY_TEST_TEXT_SZ  32 /* bytes of a text that are compared */
#define ANY_TEST_WORD_CNT (ANY_TEST_TEXT_SZ / 8)

enum any_op { ANY_ALWAYS, ANY_EQ, ANY_NE, ANY_LT, ANY_LE, ANY_GT, ANY_GE };

/* What is tested: an argument, by its index, or one of these, when a call returns. */
enum any_subject { ANY_RESULT = EVENT_ARG_CNT, ANY_DURATION };

/* A condition for a row. */
struct any_test {
	__u32 op; /* enum any_op */
	__u32 subject;
	/* a number in the first word, or the bytes of a text; which of its bytes are compared */
	__u64 value[ANY_TEST_WORD_CNT], mask[ANY_TEST_WORD_CNT];
};

/* The index of a site is the cookie of its attached places. A static probe has several, if its
 * places have their arguments elsewhere. */
struct any_site {
	struct event_args blank; /* .choice is set */
	struct any_arg args[EVENT_ARG_CNT];
	struct usdt_arg result; /* of a call; .sz 0: not recorded */
	/* of a span: what its begin and its end have in common; .sz 0: the thread */
	struct usdt_arg key;
	char label[EVENT_SPAN_SZ]; /* its name, if label_arg is EVENT_ARG_CNT */
	__u32 label_arg;	   /* the argument that is its name */
	__u32 unused;
	struct any_test tests[ANY_TEST_CNT];
	__u32 how;  /* enum capture_how */
	__u32 wide; /* the site has one text */
};

#endif
