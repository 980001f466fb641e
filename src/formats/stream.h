/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stream of records in one of the formats, read and written. Readers and writers are objects of
 * their format behind these two faces; the tables of formats are in stream.c.
 */
#ifndef FORMATS_STREAM_H
#define FORMATS_STREAM_H

#include "formats/input.h"
#include "formats/item.h"
#include "formats/output.h"

enum format { FORMAT_UNKNOWN, FORMAT_PERF, FORMAT_SYSPROF, FORMAT_CNT };

/* A record as it stands in the stream. */
struct raw {
	const uint8_t *data;
	size_t sz;
	uint64_t off; /* of the input: where the bytes stand, as long as they are held there */
	bool brief;   /* they stand nowhere, and go with the next record */
	bool round;   /* what comes later is not earlier than what came before the last such mark */
};

#define FAULT_SZ 256

/* What was wrong with the input, and where. Only the first fault is kept. */
struct fault {
	bool set;
	char text[FAULT_SZ]; /* "at byte 4711: …" */
};

__attribute__((format(printf, 3, 4))) void fault__set(struct fault *, uint64_t off, const char *fmt,
						      ...);

struct stream_reader;
struct stream_writer;

struct stream_reader_ops {
	void (*free)(struct stream_reader *);
	bool (*next)(struct stream_reader *, struct raw *);
	uint64_t (*time)(struct stream_reader *, const struct raw *);
	void (*parse)(struct stream_reader *, const struct raw *, struct item *);
};

struct stream_writer_ops {
	void (*free)(struct stream_writer *);
	void (*begin)(struct stream_writer *);
	void (*pass)(struct stream_writer *, const struct raw *);
	void (*unwound)(struct stream_writer *, const struct raw *, const struct item *);
	void (*convert)(struct stream_writer *, const struct item *);
	void (*end)(struct stream_writer *);
};

/* The beginning of every reader. */
struct stream_reader {
	const struct stream_reader_ops *ops;
	enum format format;
	struct input *in; /* borrowed */
	struct fault fault;
	bool clock;			/* periods of samples are ns of CPU time */
	bool rounds;			/* raw.round will come; else records are nearly in order */
	uint64_t skipped;		/* records that were left out: hardware traces */
	uint64_t chain[ITEM_CHAIN_MAX]; /* of the item that was parsed last */
};

/* The beginning of every writer. */
struct stream_writer {
	const struct stream_writer_ops *ops;
	enum format format;
	struct output *out; /* borrowed */
	uint64_t dropped;   /* records that the format has no place for */
	uint64_t start_ns;  /* of the first record that has a time; set before records come */
};

/* ---- readers ---- */

/* By the first bytes of the input; FORMAT_UNKNOWN: none of ours. */
enum format format__detect(struct input *);
const char *format__name(enum format);
enum format format__by_name(const char *); /* FORMAT_UNKNOWN: there is no such */

/* Reads the header: look at reader->fault. NULL + errno without memory. */
struct stream_reader *stream_reader__new(enum format, struct input *);
void stream_reader__free(struct stream_reader *);

/* The next record, until the next call, or as long as the input holds it. False at the end, or at
 * the fault. */
static inline bool stream_reader__next(struct stream_reader *r, struct raw *raw)
{
	return r->ops->next(r, raw);
}

/* ns; 0: it has none, and counts from where it stands. */
static inline uint64_t stream_reader__time(struct stream_reader *r, const struct raw *raw)
{
	return r->ops->time(r, raw);
}

/* What a record says, until the next call, or until its bytes go. One that is damaged is
 * ITEM_OTHER. */
static inline void stream_reader__parse(struct stream_reader *r, const struct raw *raw,
					struct item *item)
{
	r->ops->parse(r, raw, item);
}

/* ---- writers ---- */

struct stream_writer_options {
	enum format format;
	const struct stream_reader *reader; /* whose records these are; borrowed */
	struct output *out;		    /* borrowed */
};

struct stream_writer *stream_writer__new(const struct stream_writer_options *); /* NULL + errno */
void stream_writer__free(struct stream_writer *);

static inline void stream_writer__begin(struct stream_writer *w)
{
	w->ops->begin(w);
}

/* A record that stays as it is: byte for byte where the writer's format is the reader's. */
void stream_writer__pass(struct stream_writer *, struct stream_reader *, const struct raw *);

/*
 * A sample whose user-space chain is known: `item` has the whole chain, with markers, in place of
 * the one that it came with.
 */
void stream_writer__unwound(struct stream_writer *, struct stream_reader *, const struct raw *,
			    const struct item *);

/* What comes behind the records. Does not flush. */
static inline void stream_writer__end(struct stream_writer *w)
{
	w->ops->end(w);
}

#endif
