// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/tracks/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/utf8.h"

#define SEQUENCE 1
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum { CLOCK_REAL = 1, CLOCK_BOOT = 6 };
enum { COUNTER_CPU_CLOCK = 1 };

#define PACKET_TAG 0x0a /* of TracePacket in a trace: field 1, with a length */

int packets__init(struct packets *p, struct piecefile *file)
{
	*p = (struct packets){ .file = file };
	p->names.strings = strtab__new();
	p->categories.strings = strtab__new();
	p->keys.strings = strtab__new();
	p->names.written = p->categories.written = p->keys.written = 1;
	return p->names.strings && p->categories.strings && p->keys.strings ? 0 : -ENOMEM;
}

void packets__free(struct packets *p)
{
	strtab__free(p->names.strings);
	strtab__free(p->categories.strings);
	strtab__free(p->keys.strings);
	keymap__free(&p->stacks);
	buf__free(&p->scratch);
	*p = (struct packets){ 0 };
}

char *packets__clean(struct packets *p, const char *s, size_t sz)
{
	static char none[] = "";

	buf__reset(&p->scratch);
	utf8__sanitize(&p->scratch, s ? s : none, sz);
	buf__u8(&p->scratch, 0);
	if (!buf__err(&p->scratch))
		return (char *)p->scratch.data;
	p->err = -ENOMEM;
	return none;
}

uint64_t packets__text(struct packets *p, struct packet_texts *t, const char *s, size_t sz)
{
	const char *text = packets__clean(p, s, sz);
	uint32_t id = *text ? strtab__id(t->strings, text, strlen(text)) : 0;

	if (*text && !id)
		p->err = -ENOMEM;
	return id;
}

/* ---- packets -------------------------------------------------------------------------------- */

static void packet_append(struct packets *p, Stacks__Perfetto__TracePacket *packet)
{
	struct buf *out = piecefile__out(p->file);
	size_t sz;
	uint8_t *at;

	packet->has_trusted_packet_sequence_id = packet->has_sequence_flags = true;
	packet->trusted_packet_sequence_id = SEQUENCE;
	packet->sequence_flags |= FLAG_NEEDED;
	sz = stacks__perfetto__trace_packet__get_packed_size(packet);
	buf__u8(out, PACKET_TAG);
	buf__uleb(out, sz);
	at = buf__extend(out, sz);
	if (at)
		stacks__perfetto__trace_packet__pack(packet, at);
	piecefile__flush(p->file);
}

/* Writes a packet that has only interned data. */
static void packet_append_entry(struct packets *p, Stacks__Perfetto__InternedData *data)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;

	packet.interned_data = data;
	packet_append(p, &packet);
}

static Stacks__Perfetto__InternedString packets_interned(uint64_t iid, const char *s, size_t sz)
{
	Stacks__Perfetto__InternedString string = STACKS__PERFETTO__INTERNED_STRING__INIT;

	string.has_iid = string.has_str = true;
	string.iid = iid;
	string.str = (ProtobufCBinaryData){ sz, (uint8_t *)s };
	return string;
}

/* The lists of texts in InternedData. */
enum text_list {
	LIST_CATEGORY,
	LIST_NAME,
	LIST_KEY,
	LIST_FUNCTION,
	LIST_PATH,
	LIST_SOURCE,
	LIST_BUILD_ID
};

static void packets_write_text(struct packets *p, enum text_list list,
			       Stacks__Perfetto__InternedString string)
{
	Stacks__Perfetto__InternedData data = STACKS__PERFETTO__INTERNED_DATA__INIT;
	Stacks__Perfetto__InternedString *strings[] = { &string };
	const struct {
		size_t *cnt;
		Stacks__Perfetto__InternedString ***at;
	} lists[] = {
		[LIST_CATEGORY] = { &data.n_event_categories, &data.event_categories },
		[LIST_NAME] = { &data.n_event_names, &data.event_names },
		[LIST_KEY] = { &data.n_debug_annotation_names, &data.debug_annotation_names },
		[LIST_FUNCTION] = { &data.n_function_names, &data.function_names },
		[LIST_PATH] = { &data.n_mapping_paths, &data.mapping_paths },
		[LIST_SOURCE] = { &data.n_source_paths, &data.source_paths },
		[LIST_BUILD_ID] = { &data.n_build_ids, &data.build_ids },
	};

	*lists[list].cnt = 1;
	*lists[list].at = strings;
	packet_append_entry(p, &data);
}

static void packets_write_new_texts(struct packets *p, enum text_list list, struct packet_texts *t)
{
	for (; t->written < strtab__cnt(t->strings); t->written++) {
		size_t sz;
		const char *s = strtab__str(t->strings, (uint32_t)t->written, &sz);

		packets_write_text(p, list, packets_interned(t->written, s, sz));
	}
}

void packets__write(struct packets *p, Stacks__Perfetto__TracePacket *packet)
{
	packets_write_new_texts(p, LIST_NAME, &p->names);
	packets_write_new_texts(p, LIST_CATEGORY, &p->categories);
	packets_write_new_texts(p, LIST_KEY, &p->keys);
	packet_append(p, packet);
}

static void packets_write_clock(struct packets *p, int64_t first_ns)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;
	Stacks__Perfetto__ClockSnapshot snapshot = STACKS__PERFETTO__CLOCK_SNAPSHOT__INIT;
	Stacks__Perfetto__ClockSnapshot__Clock clocks[2], *list[2];
	static const uint32_t ids[] = { CLOCK_BOOT, CLOCK_REAL };

	for (size_t i = 0; i < 2; i++) {
		stacks__perfetto__clock_snapshot__clock__init(&clocks[i]);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = ids[i];
		clocks[i].timestamp = (uint64_t)first_ns;
		list[i] = &clocks[i];
	}
	snapshot.n_clocks = 2;
	snapshot.clocks = list;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_BOOT;
	packet.clock_snapshot = &snapshot;
	packet.sequence_flags = FLAG_CLEARED;
	packet_append(p, &packet);
}

void packets__begin(struct packets *p, int64_t first_ns, int64_t period_ns)
{
	Stacks__Perfetto__TracePacket packet = STACKS__PERFETTO__TRACE_PACKET__INIT;
	Stacks__Perfetto__TracePacketDefaults defaults =
		STACKS__PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	Stacks__Perfetto__PerfSampleDefaults samples = STACKS__PERFETTO__PERF_SAMPLE_DEFAULTS__INIT;
	Stacks__Perfetto__PerfTimebase timebase = STACKS__PERFETTO__PERF_TIMEBASE__INIT;

	packets_write_clock(p, first_ns);
	timebase.has_counter = true;
	timebase.counter = COUNTER_CPU_CLOCK;
	timebase.has_frequency = period_ns > 0;
	timebase.frequency =
		period_ns > 0 ? (1000000000 + (uint64_t)period_ns / 2) / (uint64_t)period_ns : 0;
	samples.timebase = &timebase;
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	packet_append(p, &packet);
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The entries of a builder, and the ids of their frames. */
struct stack_packets {
	struct packets *p;
	const struct builder *b;
	struct builder_index index;
	uint64_t *first_frame; /* by the id of a location: that of its outermost function */
};

static void packets_write_string(struct stack_packets *s, enum text_list list, uint32_t id)
{
	size_t sz;
	const char *text = strtab__str(s->b->strings, id, &sz);

	if (id)
		packets_write_text(s->p, list, packets_interned(id, text, sz));
}

/* Readers put a slash before each path. */
static void packets_write_path(struct stack_packets *s, uint32_t module)
{
	size_t sz;
	const char *path = strtab__str(s->b->strings, module, &sz);
	bool slash = *path == '/';

	if (strcmp(path, "[kernel]") == 0)
		packets_write_text(s->p, LIST_PATH,
				   packets_interned(module, "kernel", strlen("kernel")));
	else if (module)
		packets_write_text(s->p, LIST_PATH,
				   packets_interned(module, path + slash, sz - slash));
}

/* Returns the size of the build ID that the hex digits are. */
static size_t packets_build_id_bytes(const char *hex, size_t hex_sz, uint8_t bytes[BUILD_ID_MAX])
{
	size_t sz = 0;

	for (; 2 * sz + 1 < hex_sz && sz < BUILD_ID_MAX; sz++) {
		char digits[3] = { hex[2 * sz], hex[2 * sz + 1], 0 };

		bytes[sz] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return sz;
}

static void packets_write_mapping(struct stack_packets *s, const struct mapping_entry *m)
{
	Stacks__Perfetto__InternedData data = STACKS__PERFETTO__INTERNED_DATA__INIT;
	Stacks__Perfetto__Mapping mapping = STACKS__PERFETTO__MAPPING__INIT, *list[] = { &mapping };
	uint64_t path = m->key.module;
	uint8_t bytes[BUILD_ID_MAX];
	size_t sz, hex_sz;
	const char *hex = strtab__str(s->b->strings, m->key.build_id, &hex_sz);

	sz = packets_build_id_bytes(hex, hex_sz, bytes);
	packets_write_path(s, m->key.module);
	if (sz)
		packets_write_text(s->p, LIST_BUILD_ID,
				   packets_interned(m->key.build_id, (const char *)bytes, sz));
	mapping.has_iid = true;
	mapping.iid = m->pb.id;
	mapping.has_build_id = sz > 0;
	mapping.build_id = m->key.build_id;
	mapping.n_path_string_ids = path ? 1 : 0;
	mapping.path_string_ids = &path;
	data.n_mappings = 1;
	data.mappings = list;
	packet_append_entry(s->p, &data);
}

static void packets_write_frame(struct stack_packets *s, const Perftools__Profiles__Location *l,
				uint32_t depth)
{
	const Perftools__Profiles__Line *line = l->line[l->n_line - 1 - depth];
	Stacks__Perfetto__InternedData data = STACKS__PERFETTO__INTERNED_DATA__INIT;
	Stacks__Perfetto__Frame frame = STACKS__PERFETTO__FRAME__INIT, *list[] = { &frame };
	const struct function_key *f = &s->index.functions[line->function_id]->key;

	frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = true;
	frame.has_rel_pc = true;
	frame.iid = s->first_frame[l->id] + depth;
	frame.function_name_id = f->name;
	frame.mapping_id = l->mapping_id;
	frame.rel_pc = l->address;
	frame.has_source_path_iid = f->file != 0;
	frame.source_path_iid = f->file;
	frame.has_line_number = line->line > 0;
	frame.line_number = (uint32_t)line->line;
	data.n_frames = 1;
	data.frames = list;
	packet_append_entry(s->p, &data);
}

static void packets_write_locations(struct stack_packets *s)
{
	uint64_t next = 1;

	for (uint32_t id = 1; id <= HASH_COUNT(s->b->locations); id++) {
		const Perftools__Profiles__Location *l = &s->index.locations[id]->pb;

		s->first_frame[id] = next;
		for (uint32_t depth = 0; depth < l->n_line; depth++)
			packets_write_frame(s, l, depth);
		next += l->n_line;
	}
}

/* Collects the frames of a stack, the outermost first, and their names, the leaf first. */
static void packets_collect_stack(struct stack_packets *s, const struct kept_stack *k,
				  struct buf *frames, struct buf *names)
{
	for (size_t i = k->cnt; i-- > 0;) {
		uint64_t id = k->location_ids[i];

		for (uint64_t depth = 0; depth < s->index.locations[id]->pb.n_line; depth++) {
			uint64_t frame = s->first_frame[id] + depth;

			buf__append(frames, &frame, sizeof(frame));
		}
	}
	for (size_t i = 0; i < k->cnt; i++) {
		const Perftools__Profiles__Location *l =
			&s->index.locations[k->location_ids[i]]->pb;

		for (size_t j = 0; j < l->n_line; j++) {
			uint64_t f = l->line[j]->function_id;

			buf__str(names, names->sz ? "\n" : "");
			buf__str(names,
				 strtab__str(s->b->strings, s->index.functions[f]->key.name, NULL));
		}
	}
}

/* Samples refer to the callstack, slices to the text with its names, which the viewer shows. */
static void packets_write_stack(struct stack_packets *s, const struct kept_stack *k)
{
	Stacks__Perfetto__InternedData data = STACKS__PERFETTO__INTERNED_DATA__INIT;
	Stacks__Perfetto__Callstack stack = STACKS__PERFETTO__CALLSTACK__INIT,
				    *stacks[] = { &stack };
	Stacks__Perfetto__InternedString text, *texts[] = { &text };
	struct buf frames = { 0 }, names = { 0 };
	bool is_new;
	uint32_t at = keymap__add(&s->p->stacks, k->stack_id, 0, &is_new);

	packets_collect_stack(s, k, &frames, &names);
	if (at == KEYMAP_NONE || buf__err(&frames) || buf__err(&names))
		s->p->err = -ENOMEM;
	stack.has_iid = true;
	stack.iid = (uint64_t)at + 1;
	stack.n_frame_ids = frames.sz / sizeof(uint64_t);
	stack.frame_ids = (uint64_t *)frames.data;
	text = packets_interned(stack.iid, (const char *)names.data, names.sz);
	data.n_callstacks = data.n_debug_annotation_string_values = 1;
	data.callstacks = stacks;
	data.debug_annotation_string_values = texts;
	packet_append_entry(s->p, &data);
	buf__free(&frames);
	buf__free(&names);
}

void packets__stacks(struct packets *p, struct builder *b)
{
	struct stack_packets s = { .p = p, .b = b };
	const struct function_entry *f;
	const struct mapping_entry *m;
	const struct kept_stack *k;

	s.first_frame = calloc((size_t)HASH_COUNT(b->locations) + 1, sizeof(*s.first_frame));
	if (builder_index__init(&s.index, b) != 0 || !s.first_frame) {
		p->err = -ENOMEM;
	} else {
		for (f = b->functions; f; f = f->hh.next) {
			packets_write_string(&s, LIST_FUNCTION, f->key.name);
			packets_write_string(&s, LIST_SOURCE, f->key.file);
		}
		for (m = b->mappings; m; m = m->hh.next)
			packets_write_mapping(&s, m);
		packets_write_locations(&s);
		for (k = b->kept; k; k = k->hh.next)
			packets_write_stack(&s, k);
	}
	builder_index__free(&s.index);
	free(s.first_frame);
}

uint64_t packets__stack(const struct packets *p, uint64_t key)
{
	uint32_t at = keymap__find(&p->stacks, key, 0);

	return at == KEYMAP_NONE ? 0 : (uint64_t)at + 1;
}
