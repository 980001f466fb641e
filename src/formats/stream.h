/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers and writers of record streams. Each format of formats/formats.h implements both
 * interfaces. */
#ifndef FORMATS_STREAM_H
#define FORMATS_STREAM_H

#include "formats/input.h"
#include "formats/item.h"
#include "formats/output.h"

enum format { FORMAT_UNKNOWN, FORMAT_PERF, FORMAT_SYSPROF, FORMAT_CNT };

/* The unparsed bytes of a record. */
struct raw {
	const uint8_t *data;
	size_t sz;
	uint64_t off; /* input offset of the bytes, which stay valid while input__hold() holds it */
	bool brief;   /* the bytes are not in the input, and are valid only until the next record */
	bool round; /* a round mark: no later record is earlier than those before the previous mark
		     */
};

#define FAULT_SZ 256

/* An error in the input and its offset. Only the first fault is kept. */
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

/* The base of every reader: its first member. */
struct stream_reader {
	const struct stream_reader_ops *ops;
	enum format format;
	struct input *in; /* borrowed */
	struct fault fault;
	bool clock;	  /* sample periods are ns of CPU time */
	bool rounds;	  /* raw.round is used; if false, records are nearly in order */
	uint64_t skipped; /* records skipped: hardware traces */
	uint64_t chain[ITEM_CHAIN_MAX]; /* chain of the item parsed last */
};

/* The base of every writer: its first member. */
struct stream_writer {
	const struct stream_writer_ops *ops;
	enum format format;
	struct output *out; /* borrowed */
	uint64_t dropped;   /* records that the format cannot represent */
	uint64_t start_ns;  /* time of the earliest record that has one; set before
			       stream_writer__begin() */
};

/* ---- readers ---- */

void stream_reader__free(struct stream_reader *);

/* Stores the next record. It is valid until the next call, or as long as the input holds it.
 * Returns false at the end or at a fault. */
static inline bool stream_reader__next(struct stream_reader *r, struct raw *raw)
{
	return r->ops->next(r, raw);
}

/* Returns the time in ns, or 0 if the record has none. Its position in the stream then orders it.
 */
static inline uint64_t stream_reader__time(struct stream_reader *r, const struct raw *raw)
{
	return r->ops->time(r, raw);
}

/* Parses a record. The item is valid until the next call, and as long as the bytes of the record. A
 * damaged record becomes ITEM_OTHER. */
static inline void stream_reader__parse(struct stream_reader *r, const struct raw *raw,
					struct item *item)
{
	r->ops->parse(r, raw, item);
}

/* ---- writers ---- */

struct stream_writer_options {
	enum format format;
	const struct stream_reader *reader; /* source of the records; borrowed */
	struct output *out;		    /* borrowed */
};

void stream_writer__free(struct stream_writer *);

static inline void stream_writer__begin(struct stream_writer *w)
{
	w->ops->begin(w);
}

/* Writes a record that was not unwound: byte for byte if reader and writer have the same format. */
void stream_writer__pass(struct stream_writer *, struct stream_reader *, const struct raw *);

/*
 * Writes an unwound sample. `item` has the complete chain, with markers, in place of the recorded
 * chain.
 */
void stream_writer__unwound(struct stream_writer *, struct stream_reader *, const struct raw *,
			    const struct item *);

/* Writes the data that follow the records. Does not flush. */
static inline void stream_writer__end(struct stream_writer *w)
{
	w->ops->end(w);
}

#endif
