// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacktrace/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "formats/formats.h"
#include "stacktrace/chainjoin.h"
#include "stacktrace/profile.h"
#include "stacktrace/queue.h"
#include "stacktrace/report.h"
#include "stacktrace/unwinding.h"

#define INTERRUPTS_MAX 2
#define DISORDER_NS    1000000000 /* for streams without round marks, where CPUs write in turn */
#define NS_PER_MS      1000000

struct filter {
	const struct filter_options *options;
	const struct filter_files *files;
	struct input *in;
	struct output *out;
	struct stream_reader *reader;
	struct stream_writer *writer;
	struct queue *queue;
	struct unwinding *unwinding;
	struct chain_join *chain_join; /* NULL: deferred chains are passed through unjoined */
	struct profile *profile;       /* with --to pprof; NULL before the first sample */
	struct tally *tally;
	struct report *report;
	bool live;				/* the input is a pipe: the latency is bounded */
	bool began;				/* output has begun */
	uint64_t round_ns;			/* time of the newest record before the last mark */
	uint64_t tick_ns;			/* time of the newest record at the last tick */
	struct item item;			/* the one being emitted */
	struct item samples[UNWINDING_MAX + 1]; /* samples to walk together, and the current item */
	struct queued *queued[UNWINDING_MAX];
	size_t sample_cnt;
	uint64_t kernel[2 * ITEM_CHAIN_MAX]; /* the kernel parts of their chains */
	size_t kernel_cnt;
};

/* ---- records, in time order ---- */

/* Stores the call chain of a sample: kernel part, marker, user part. */
static void filter_keep_chain(struct filter *f, struct queued *q, const struct item_sample *s,
			      const struct trace *t)
{
	size_t kernel = s->chain_cnt, cnt = t ? t->cnt : 0;
	size_t alone = kernel == 0 && s->kernel && s->ip ? 2 : 0;
	uint64_t *chain = queue__chain(f->queue, q, alone + kernel + 1 + cnt);

	if (!chain)
		return;
	q->cuts = s->cuts;
	if (alone) {
		*chain++ = CONTEXT_KERNEL;
		*chain++ = s->ip;
	}
	memcpy(chain, s->chain, kernel * sizeof(*chain));
	chain += kernel;
	if (cnt)
		*chain++ = CONTEXT_USER;
	else
		q->chain_cnt--;
	for (size_t i = 0; i < cnt; i++)
		*chain++ = t->frames[i].pc;
}

/* Creates the profile at the first use, when the reader knows the event type of the samples.
 * Returns NULL if out of memory. */
static struct profile *filter_profile_of(struct filter *f)
{
	struct profile_options o = { f->live, f->reader->clock, unwinding__jit(f->unwinding),
				     unwinding__workers(f->unwinding) };

	if (!f->profile)
		f->profile = profile__new(&o);
	return f->profile;
}

static void filter_add_to_profile(struct filter *f, const struct item *item)
{
	struct profile_sample sample = { item, item_sample__kernel_cnt(&item->sample), NULL };

	if (!filter_profile_of(f))
		return;
	sample.user = unwinding__look_up(f->unwinding, item, sample.kernel_cnt);
	profile__add(f->profile, &sample);
}

/* Handles a sample without a copied stack. Its chain is recorded, deferred or absent. */
static void filter_take_as_it_is(struct filter *f, const struct item *item, struct queued *q)
{
	tally__other(f->tally);
	if (f->chain_join && chain_join__hold(f->chain_join, item, q))
		return;
	if (f->options->pprof)
		filter_add_to_profile(f, item);
}

/* Handles a deferred sample when its chain has arrived or is lost. */
static void filter_take_deferred(void *arg, const struct item *item)
{
	struct filter *f = arg;

	if (f->options->pprof)
		filter_add_to_profile(f, item);
	else
		stream_writer__unwound(f->writer, f->reader, NULL, item);
}

static void filter_take_unwound(void *arg, size_t nth, const struct trace *t)
{
	struct filter *f = arg;
	const struct item *item = &f->samples[nth];
	struct queued *q = f->queued[nth];

	if (nth == 0)
		input__check(f->in); /* detects a file truncated during the walk */
	if (!input__has(f->in, q->raw.data, q->raw.sz))
		return;
	if (t)
		tally__add(f->tally, item->record.tgid, t);
	else
		tally__other(f->tally);
	if (!f->options->pprof)
		filter_keep_chain(f, q, &item->sample, t);
	else if (filter_profile_of(f))
		profile__add(f->profile,
			     &(struct profile_sample){ item, item->sample.chain_cnt, t });
}

/* Walks all pending samples. */
static void filter_settle(void *arg)
{
	struct filter *f = arg;
	size_t cnt = f->sample_cnt;

	f->sample_cnt = f->kernel_cnt = 0;
	if (cnt)
		unwinding__walk(f->unwinding, f->samples, cnt, filter_take_unwound, f);
	else
		input__check(f->in);
}

/* Adds a sample to walk. Copies its chain, because the reader reuses that memory before the walk.
 */
static void filter_add_sample(struct filter *f, struct item_sample *s, struct queued *q)
{
	uint64_t *kernel = f->kernel + f->kernel_cnt;

	s->chain_cnt = item_sample__kernel_cnt(s);
	memcpy(kernel, s->chain, s->chain_cnt * sizeof(*kernel));
	s->chain = kernel;
	f->kernel_cnt += s->chain_cnt;
	f->queued[f->sample_cnt++] = q;
	if (f->sample_cnt == UNWINDING_MAX || f->kernel_cnt > ITEM_CHAIN_MAX)
		filter_settle(f);
}

static void filter_note_kernel(struct filter *f, const struct record *r)
{
	static const char kernel[] = "[kernel.kallsyms]";

	if (f->options->pprof && r->type == RECORD_MMAP && r->tgid == UINT32_MAX &&
	    strncmp(r->mmap.path, kernel, strlen(kernel)) == 0 && filter_profile_of(f))
		profile__kernel_text(f->profile, r->mmap.pgoff);
}

static void filter_note_names(struct tally *t, const struct record *r)
{
	if (r->type == RECORD_COMM && r->tid == r->tgid)
		tally__name(t, r->tgid, r->comm.name);
	if (r->type == RECORD_FORK && r->tgid != r->fork.parent_tgid)
		tally__inherit(t, r->tgid, r->fork.parent_tgid);
}

/* Applies a change of a process, after walking all samples before it. */
static void filter_apply(struct filter *f, const struct item *item)
{
	filter_settle(f);
	unwinding__apply(f->unwinding, item);
	if (item->kind != ITEM_PROCESS)
		return;
	filter_note_names(f->tally, &item->record);
	filter_note_kernel(f, &item->record);
}

static void filter_work(void *arg, struct queued *q)
{
	struct filter *f = arg;
	struct item *item = &f->samples[f->sample_cnt];

	stream_reader__parse(f->reader, &q->raw, item);
	if (item->kind == ITEM_PROCESS || item->kind == ITEM_OVERLAY)
		filter_apply(f, item);
	else if (item->kind == ITEM_SAMPLE && item->sample.has_stack)
		filter_add_sample(f, &item->sample, q);
	else if (item->kind == ITEM_SAMPLE)
		filter_take_as_it_is(f, item, q);
	else if (item->kind == ITEM_CHAIN && f->chain_join)
		chain_join__join(f->chain_join, item, q);
}

/* ---- records, in stream order ---- */

static void filter_begin(struct filter *f)
{
	f->began = true;
	if (f->options->pprof)
		return;
	f->writer->start_ns = queue__oldest(f->queue);
	stream_writer__begin(f->writer);
}

static void filter_emit(void *arg, const struct queued *q)
{
	struct filter *f = arg;

	if (f->options->pprof || !input__has(f->in, q->raw.data, q->raw.sz))
		return;
	if (f->chain_join)
		chain_join__emit(f->chain_join, q);
	if (q->held)
		return;
	if (!q->chain || q->joined_cnt) {
		stream_writer__pass(f->writer, f->reader, &q->raw);
		return;
	}
	if (f->writer->format != f->reader->format)
		stream_reader__parse(f->reader, &q->raw, &f->item);
	f->item.sample.cuts = q->cuts;
	f->item.sample.chain = q->chain;
	f->item.sample.chain_cnt = q->chain_cnt;
	stream_writer__unwound(f->writer, f->reader, &q->raw, &f->item);
}

/* Processes the records up to that time; no earlier ones can follow. */
static void filter_advance(struct filter *f, uint64_t until_ns)
{
	if (!f->began)
		filter_begin(f);
	queue__until(f->queue, until_ns);
}

/* ---- the stream ---- */

static void filter_report(struct filter *f, bool ended)
{
	report__tick(f->report,
		     &(struct report_facts){
			     .sums = tally__sums(f->tally),
			     .read_sz = input__off(f->in),
			     .written_sz = output__off(f->out),
			     .input_sz = input__sz(f->in),
			     .pending = f->unwinding ? unwinding__pending(f->unwinding) : 0,
			     .ended = ended });
}

/*
 * For a pipe, emits the records that were queued at the last tick, or all if the input is idle. So
 * a record is delayed by at most two ticks. Returns false to end the input.
 */
static bool filter_tick(void *arg, bool idle)
{
	struct filter *f = arg;

	if (f->live && f->queue && f->writer) {
		filter_advance(f, idle ? UINT64_MAX : f->tick_ns);
		f->tick_ns = queue__newest(f->queue);
		output__flush(f->out);
	}
	filter_report(f, false);
	return *f->files->interrupts <= INTERRUPTS_MAX && output__err(f->out) == 0;
}

/* Processes records that are final. A stream without round marks is assumed to be in order within
 * DISORDER_NS (one second). */
static void filter_pace(struct filter *f, bool round)
{
	uint64_t newest_ns = queue__newest(f->queue);

	if (!f->reader->rounds && newest_ns > f->round_ns + 2 * DISORDER_NS) {
		filter_advance(f, newest_ns - DISORDER_NS);
		f->round_ns = newest_ns - DISORDER_NS;
	}
	if (!round)
		return;
	filter_advance(f, f->round_ns);
	f->round_ns = newest_ns;
}

static int filter_write_profile(struct filter *f)
{
	int err = filter_profile_of(f) ? profile__write(f->profile, f->files->out) : -ENOMEM;

	if (!err)
		return STATUS_OK;
	log__error("cannot write the profile: %s",
		   err == -EFBIG ? "larger than 2 GiB" : strerror(-err));
	return STATUS_FAILED;
}

static int filter_convert(struct filter *f)
{
	struct raw raw;

	while (stream_reader__next(f->reader, &raw) && output__err(f->out) == 0) {
		uint64_t time_ns = stream_reader__time(f->reader, &raw);

		if (f->options->mode == MODE_NONE)
			continue;
		if (queue__add(f->queue, &raw, time_ns) != 0)
			return log__error("out of memory"), STATUS_FAILED;
		filter_pace(f, raw.round);
		input__hold(f->in, queue__off(f->queue));
	}
	filter_advance(f, UINT64_MAX);
	if (f->chain_join)
		chain_join__rest(f->chain_join);
	if (f->options->pprof)
		return filter_write_profile(f);
	stream_writer__end(f->writer);
	return STATUS_OK;
}

/* Copies the input unchanged. */
static int filter_copy(struct filter *f)
{
	const uint8_t *p;

	while ((p = input__peek(f->in, 1)) && output__err(f->out) == 0) {
		size_t sz = input__left(f->in);

		output__write(f->out, p, sz);
		input__step(f->in, sz);
	}
	return STATUS_OK;
}

/* ---- the whole run ---- */

static enum format filter_find_format(struct filter *f)
{
	enum format format = f->options->format;

	if (format == FORMAT_UNKNOWN)
		format = format__detect(f->in);
	if (format == FORMAT_UNKNOWN)
		log__error("%s: %s", f->options->input ? f->options->input : "the standard input",
			   input__err(f->in)	? strerror(-input__err(f->in))
			   : input__left(f->in) ? "neither a perf.data file nor a sysprof capture"
						: "empty");
	return format;
}

static bool filter_open_reader(struct filter *f, enum format format)
{
	f->reader = stream_reader__new(format, f->in);
	if (!f->reader)
		log__error("out of memory");
	return f->reader && !f->reader->fault.set;
}

/* Creates the chain join if the output needs it. If the format stays the same, samples and chains
 * pass unchanged, and its readers join them. Returns false if out of memory. */
static bool filter_open_deferred(struct filter *f)
{
	struct chain_join_options o = { f->queue, f->options->pprof, filter_take_deferred, f };

	if (!f->options->pprof && f->writer->format == f->reader->format)
		return true;
	f->chain_join = chain_join__new(&o);
	return f->chain_join != NULL;
}

static bool filter_open_writer(struct filter *f)
{
	enum format target = f->options->target;
	struct stream_writer_options options = { target ? target : f->reader->format, f->reader,
						 f->out };
	struct queue_handlers handlers = { filter_work, filter_settle, filter_emit, f };

	f->unwinding = unwinding__new(f->options, f->live);
	if (!f->unwinding)
		return false;
	f->writer = stream_writer__new(&options);
	f->queue = queue__new(&handlers);
	if (f->writer && f->queue && filter_open_deferred(f))
		return true;
	log__error("out of memory");
	return false;
}

/* Truncates the output file once the input is known to be valid. A pipe cannot be truncated
 * (EINVAL). Returns false on error (already logged). */
static bool filter_empty_output(struct filter *f)
{
	if (!f->options->output || ftruncate(f->files->out, 0) == 0 || errno == EINVAL)
		return true;
	log__error("%s: %s", f->options->output, strerror(errno));
	return false;
}

static int filter_run(struct filter *f)
{
	enum format format = filter_find_format(f);
	int status = STATUS_FAILED;

	if (format == FORMAT_UNKNOWN)
		return STATUS_FAILED;
	if (f->options->mode == MODE_PASSTHRU)
		status = filter_empty_output(f) ? filter_copy(f) : STATUS_FAILED;
	else if (filter_open_reader(f, format) && filter_open_writer(f) && filter_empty_output(f))
		status = filter_convert(f);
	output__flush(f->out);
	return status;
}

/* Logs errors of the input and output files. Returns the exit status. */
static int filter_judge(struct filter *f, int status)
{
	const char *in = f->options->input ? f->options->input : "the standard input";
	const char *out = f->options->output ? f->options->output : "the standard output";
	int err = output__err(f->out);

	if (input__err(f->in)) {
		log__error("%s: %s", in, strerror(-input__err(f->in)));
		status = STATUS_FAILED;
	} else if (f->reader && f->reader->fault.set && !input__stopped(f->in)) {
		log__error("%s: %s", in, f->reader->fault.text);
		status = status ? status : STATUS_DAMAGED;
	}
	if (err == -EPIPE)
		log__error("the reader of %s has closed it", out);
	else if (err)
		log__error("%s: %s", out, strerror(-err));
	return err ? STATUS_FAILED : status;
}

static void filter_summarize(const struct filter *f)
{
	if (f->reader && f->reader->skipped)
		log__info("%lu records of hardware traces are left out", f->reader->skipped);
	if (f->writer && f->writer->dropped && f->options->verbosity > 0)
		log__info("%lu records do not exist in the output's format and are left out",
			  f->writer->dropped);
	tally__warn(f->tally);
	if (f->unwinding)
		unwinding__debug(f->unwinding);
	if (f->unwinding && f->options->verbosity > 0)
		tally__print(f->tally, stderr);
}

static void filter__free(struct filter *f)
{
	report__free(f->report);
	tally__free(f->tally);
	unwinding__free(f->unwinding);
	profile__free(f->profile);
	queue__free(f->queue);
	chain_join__free(f->chain_join);
	stream_writer__free(f->writer);
	stream_reader__free(f->reader);
	output__free(f->out);
	input__free(f->in);
}

int filter__run(const struct filter_options *o, const struct filter_files *files)
{
	struct filter f = { .options = o, .files = files };
	int status = STATUS_FAILED;

	f.in = input__new(files->in);
	f.out = output__new(files->out);
	f.tally = tally__new(o->verbosity > 0);
	f.report = report__new(o->status);
	if (f.in && f.out && f.tally && f.report) {
		f.live = input__sz(f.in) == 0;
		input__set_tick(f.in, (unsigned)(o->latency_ns / NS_PER_MS / 2 + 1), filter_tick,
				&f);
		status = filter_run(&f);
		filter_report(&f, true);
		status = filter_judge(&f, status);
		filter_summarize(&f);
	} else {
		log__error("out of memory");
	}
	filter__free(&f);
	return status;
}
