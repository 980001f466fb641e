// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/duck/functionids.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/strtab.h"
#include "stacksexport/duck/frames.h"
#include "stacksexport/model/waittraits.h"

/* A function: its name and the file name of its module, as IDs of strings. */
struct functionids_key {
	uint32_t name, module;
};

struct functionids_function {
	UT_hash_handle hh;
	struct functionids_key key;
	int32_t id;
	uint16_t wait_traits; /* enum wait_trait */
};

struct function_numbers {
	pthread_mutex_t lock;
	struct function_places *places;
	struct strtab *strings;
	struct functionids_function *by_key;
	struct functionids_function **by_id; /* [id - 1] */
	size_t cnt, cap;
};

static void functions__free(void *arg)
{
	struct function_numbers *f = arg;

	HASH_CLEAR(hh, f->by_key);
	for (size_t i = 0; i < f->cnt; i++)
		free(f->by_id[i]);
	free(f->by_id);
	strtab__free(f->strings);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static struct function_numbers *functions__new(struct function_places *places)
{
	struct function_numbers *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	pthread_mutex_init(&f->lock, NULL);
	f->places = places;
	f->strings = strtab__new();
	if (f->strings)
		return f;
	functions__free(f);
	return NULL;
}

/* Reserves room for one more ID. */
static bool functions_grow(struct function_numbers *f)
{
	size_t cap = f->cap ? 2 * f->cap : 1024;
	struct functionids_function **by_id;

	if (f->cnt < f->cap)
		return true;
	by_id = cap <= INT32_MAX ? reallocarray(f->by_id, cap, sizeof(*by_id)) : NULL;
	if (!by_id)
		return false;
	f->by_id = by_id;
	f->cap = cap;
	return true;
}

static struct frame_text functions_text(const struct function_numbers *f, uint32_t string)
{
	struct frame_text t;

	t.s = strtab__str(f->strings, string, &t.sz);
	return t;
}

/* Returns the ID of a function; 0 if out of memory. Must hold the lock. */
static int32_t functions_id(struct function_numbers *f, struct functionids_key key)
{
	struct functionids_function *function;

	HASH_FIND(hh, f->by_key, &key, sizeof(key), function);
	if (function)
		return function->id;
	function = functions_grow(f) ? calloc(1, sizeof(*function)) : NULL;
	if (!function)
		return 0;
	function->key = key;
	function->wait_traits =
		wait_traits__of(functions_text(f, key.name), functions_text(f, key.module));
	HASH_ADD(hh, f->by_key, key, sizeof(key), function);
	if (!HASH_ADDED(function)) {
		free(function);
		return 0;
	}
	f->by_id[f->cnt++] = function;
	return function->id = (int32_t)f->cnt;
}

size_t function_ids__cnt(struct function_numbers *f)
{
	size_t cnt;

	pthread_mutex_lock(&f->lock);
	cnt = f->cnt;
	pthread_mutex_unlock(&f->lock);
	return cnt;
}

void function_ids__traits(struct function_numbers *f, const int32_t *ids, size_t cnt,
			  uint16_t *traits)
{
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < cnt; i++)
		traits[i] = ids[i] > 0 && (size_t)ids[i] <= f->cnt
				    ? f->by_id[ids[i] - 1]->wait_traits
				    : 0;
	pthread_mutex_unlock(&f->lock);
}

/* Like DuckDB's parse_filename(). */
static struct frame_text functionids_file_name(struct frame_text path)
{
	size_t at = path.sz;

	while (at > 0 && path.s[at - 1] != '/' && path.s[at - 1] != '\\')
		at--;
	return (struct frame_text){ path.s + at, path.sz - at };
}

/* Returns what sql/stacks.sql defines as function_of(); 0 if out of memory. */
static int32_t functions__of_frame(struct function_numbers *f, struct named_frame *frame)
{
	struct frame_text module = functionids_file_name(frame->module), name = frame->name;
	char place[FUNCTION_PLACE_SZ];
	int32_t id;

	if (!name.s) {
		bool found = function_places__find(f->places, frame, place);

		name.s = found ? place : "[no symbol]";
		name.sz = strlen(name.s);
	}
	pthread_mutex_lock(&f->lock);
	id = functions_id(f,
			  (struct functionids_key){ strtab__id(f->strings, name.s, name.sz),
						    strtab__id(f->strings, module.s, module.sz) });
	pthread_mutex_unlock(&f->lock);
	return id;
}

/* ---- function_ids() -------------------------------------------------------------------------- */

/*
 * Most frames of a chunk have a name and a module that were looked up before. DuckDB's long strings
 * point into the dictionary of the file, so equal pointers are equal texts within a chunk.
 */
#define RECENT_CNT 4096
#define INLINE_MAX 12

/* Equal keys are equal texts: a short text itself, or the address of a long one. */
struct text_key {
	uint64_t words[2];
};

struct recent {
	struct text_key name, module;
	int32_t id; /* 0: free */
};

/* A call for one chunk. */
struct numbering {
	struct function_numbers *functions;
	struct frames frames;
	int32_t *ids; /* the output */
	size_t cnt;
	struct recent recent[RECENT_CNT];
};

static struct text_key functionids_text_key(struct frame_text t)
{
	struct text_key k = { { 0, 0 } };

	if (t.sz <= INLINE_MAX)
		memcpy(k.words, t.s, t.sz);
	else
		k.words[0] = (uintptr_t)t.s;
	k.words[1] |= (uint64_t)t.sz << 32;
	return k;
}

/* Returns the slot of a frame that was looked up before, or else the slot to use for it. */
static struct recent *numbering_find(struct numbering *n, const struct recent *wanted)
{
	const struct text_key *a = &wanted->name, *b = &wanted->module;

	return &n->recent[seed__mix(a->words[0] + 3 * a->words[1] + 5 * b->words[0] +
				    7 * b->words[1]) %
			  RECENT_CNT];
}

static bool functionids_is_recent(const struct recent *r, const struct recent *wanted)
{
	return r->id && memcmp(&r->name, &wanted->name, sizeof(r->name)) == 0 &&
	       memcmp(&r->module, &wanted->module, sizeof(r->module)) == 0;
}

static int32_t numbering_look_up(struct numbering *n, idx_t at)
{
	struct named_frame frame;

	frames__get(&n->frames, at, &frame);
	return functions__of_frame(n->functions, &frame);
}

/* Returns the ID of the function of a frame; 0 if out of memory. */
static int32_t numbering_id(struct numbering *n, idx_t at)
{
	struct frame_text name = frames__text(&n->frames, FRAME_NAME, at);
	struct recent wanted, *r;

	if (!name.s)
		return numbering_look_up(n, at);
	wanted.name = functionids_text_key(name);
	wanted.module = functionids_text_key(frames__text(&n->frames, FRAME_MODULE, at));
	r = numbering_find(n, &wanted);
	if (functionids_is_recent(r, &wanted))
		return r->id;
	wanted.id = numbering_look_up(n, at);
	*r = wanted;
	return wanted.id;
}

static bool functionids_number_stack(struct numbering *n, idx_t row, duckdb_list_entry *out)
{
	duckdb_list_entry in = cells__list(&n->frames.list, row);
	bool ok = true;

	out->offset = n->cnt;
	for (idx_t at = in.offset; at < in.offset + in.length && ok; at++) {
		n->ids[n->cnt] = numbering_id(n, at);
		ok = n->ids[n->cnt++] != 0;
	}
	out->length = n->cnt - out->offset;
	return ok;
}

int32_t *function_ids__reserve(const struct cells *lists, idx_t rows, idx_t more,
			       duckdb_vector output)
{
	idx_t cnt = rows * more;

	for (idx_t row = 0; row < rows; row++)
		cnt += cells__list(lists, row).length;
	if (duckdb_list_vector_reserve(output, cnt) != DuckDBSuccess)
		return NULL;
	return duckdb_vector_get_data(duckdb_list_vector_get_child(output));
}

static bool functionids_number_chunk(struct numbering *n, duckdb_data_chunk input,
				     duckdb_vector output)
{
	duckdb_list_entry *lists = duckdb_vector_get_data(output);
	idx_t rows = duckdb_data_chunk_get_size(input);
	bool ok;

	n->frames = frames__on(duckdb_data_chunk_get_vector(input, 0));
	n->ids = function_ids__reserve(&n->frames.list, rows, 0, output);
	ok = n->ids != NULL;
	for (idx_t row = 0; row < rows && ok; row++)
		ok = functionids_number_stack(n, row, &lists[row]);
	return ok && duckdb_list_vector_set_size(output, n->cnt) == DuckDBSuccess;
}

static void function_ids(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	struct numbering *n = calloc(1, sizeof(*n));

	if (n)
		n->functions = duckdb_scalar_function_get_extra_info(info);
	if (!n || !functionids_number_chunk(n, input, output))
		duckdb_scalar_function_set_error(info, "out of memory");
	free(n);
}

/* Checks the type of the frames, which differs between recordings. */
static void functionids_check_frames(duckdb_bind_info info)
{
	duckdb_expression frames = duckdb_scalar_function_bind_get_argument(info, 0);
	duckdb_logical_type type = duckdb_expression_return_type(frames);

	if (!frames__is_stack(type))
		duckdb_scalar_function_bind_set_error(info,
						      "function_ids() takes a list of frames");
	duckdb_destroy_logical_type(&type);
	duckdb_destroy_expression(&frames);
}

/* ---- functions_seen() ------------------------------------------------------------------------ */

struct listing {
	size_t given;
};

static void listing_bind(duckdb_bind_info info)
{
	static const struct {
		const char *name;
		duckdb_type type;
	} columns[] = { { "id", DUCKDB_TYPE_INTEGER },
			{ "name", DUCKDB_TYPE_VARCHAR },
			{ "module", DUCKDB_TYPE_VARCHAR },
			{ "works_for_caller", DUCKDB_TYPE_BOOLEAN } };

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		duckdb_logical_type type = duckdb_create_logical_type(columns[i].type);

		duckdb_bind_add_result_column(info, columns[i].name, type);
		duckdb_destroy_logical_type(&type);
	}
}

static void listing_init(duckdb_init_info info)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		duckdb_init_set_error(info, "out of memory");
	duckdb_init_set_init_data(info, l, free);
	duckdb_init_set_max_threads(info, 1);
}

static void functionids_assign_string(const struct function_numbers *f, uint32_t string,
				      duckdb_vector to, idx_t row)
{
	size_t sz;
	const char *s = strtab__str(f->strings, string, &sz);

	duckdb_vector_assign_string_element_len(to, row, s, sz);
}

static void listing_give(duckdb_function_info info, duckdb_data_chunk output)
{
	struct function_numbers *f = duckdb_function_get_extra_info(info);
	struct listing *l = duckdb_function_get_init_data(info);
	int32_t *ids = duckdb_vector_get_data(duckdb_data_chunk_get_vector(output, 0));
	bool *works = duckdb_vector_get_data(duckdb_data_chunk_get_vector(output, 3));
	idx_t row = 0;

	pthread_mutex_lock(&f->lock);
	for (; l->given < f->cnt && row < duckdb_vector_size(); row++, l->given++) {
		const struct functionids_function *function = f->by_id[l->given];

		ids[row] = function->id;
		works[row] = function->wait_traits & (WAIT_RUNTIME | WAIT_UNNAMED);
		functionids_assign_string(f, function->key.name,
					  duckdb_data_chunk_get_vector(output, 1), row);
		functionids_assign_string(f, function->key.module,
					  duckdb_data_chunk_get_vector(output, 2), row);
	}
	pthread_mutex_unlock(&f->lock);
	duckdb_data_chunk_set_size(output, row);
}

/* ---- registration ---------------------------------------------------------------------------- */

int function_ids__add(struct db *db, struct function_numbers *f,
		      const struct function_ids_scalar *scalar)
{
	duckdb_logical_type id = duckdb_create_logical_type(DUCKDB_TYPE_INTEGER);
	duckdb_logical_type ids = duckdb_create_list_type(id);
	duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
	duckdb_scalar_function s = duckdb_create_scalar_function();
	duckdb_state state;

	duckdb_scalar_function_set_name(s, scalar->name);
	duckdb_scalar_function_add_parameter(s, scalar->takes_frames ? any : ids);
	duckdb_scalar_function_set_return_type(s, ids);
	duckdb_scalar_function_set_extra_info(s, f, NULL);
	duckdb_scalar_function_set_function(s, scalar->run);
	if (scalar->takes_frames)
		duckdb_scalar_function_set_bind(s, functionids_check_frames);
	state = duckdb_register_scalar_function(db->connection, s);
	duckdb_destroy_scalar_function(&s);
	duckdb_destroy_logical_type(&any);
	duckdb_destroy_logical_type(&ids);
	duckdb_destroy_logical_type(&id);
	if (state == DuckDBSuccess)
		return 0;
	log__error("cannot add %s() to DuckDB", scalar->name);
	return -EINVAL;
}

/* Registers the listing, which owns the functions. */
static duckdb_state listing_register(struct db *db, struct function_numbers *f)
{
	duckdb_table_function t = duckdb_create_table_function();
	duckdb_state state;

	duckdb_table_function_set_name(t, "functions_seen");
	duckdb_table_function_set_extra_info(t, f, functions__free);
	duckdb_table_function_set_bind(t, listing_bind);
	duckdb_table_function_set_init(t, listing_init);
	duckdb_table_function_set_function(t, listing_give);
	state = duckdb_register_table_function(db->connection, t);
	duckdb_destroy_table_function(&t);
	return state;
}

int function_ids__register(struct db *db, struct function_places *places,
			   struct function_numbers **out)
{
	static const struct function_ids_scalar scalar = { "function_ids", function_ids, true };

	*out = functions__new(places);
	if (!*out) {
		log__error("out of memory");
		return -ENOMEM;
	}
	if (listing_register(db, *out) == DuckDBSuccess)
		return function_ids__add(db, *out, &scalar);
	log__error("cannot add functions_seen() to DuckDB");
	return -EINVAL;
}
