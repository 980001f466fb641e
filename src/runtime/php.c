// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PHP 8.1 to 8.5, without thread safety (NTS), with and without JIT. The calls are a linked list
 * of zend_execute_data that begins in executor_globals. Several calls share one activation of
 * execute_ex(): PHP calls PHP without C.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/activations.h"
#include "runtime/php_layout.h"

enum php_symbol { PHP_MODULES, PHP_GLOBALS, PHP_EXECUTE };

/* ---- versions -----------------------------------------------------------------------------------
 */

#define API_MAX	    30000000u	/* a date: year, month, day */
#define API_THREADS 0x80000000u /* added for a thread-safe build */

#define LAYOUT(handler, cnt, ops, file, frame)        \
	{                                             \
		.at = { [PHP_HANDLER] = (handler),    \
			[PHP_MODULE] = (handler) + 8, \
			[PHP_OPS_CNT] = (cnt),        \
			[PHP_OPS] = (ops),            \
			[PHP_FILE] = (file),          \
			[PHP_LINE] = (file) + 8,      \
			[PHP_FRAME] = (frame) }       \
	}

static const struct {
	uint32_t api; /* ZEND_MODULE_API_NO */
	const char *name;
	struct runtime_layout layout;
} known[] = {
	{ 20210902, "8.1", LAYOUT(56, 68, 72, 144, 488) },
	{ 20220829, "8.2", LAYOUT(72, 80, 88, 152, 488) },
	{ 20230831, "8.3", LAYOUT(72, 76, 80, 144, 488) },
	{ 20240924, "8.4", LAYOUT(88, 96, 104, 168, 488) },
	{ 20250925, "8.5", LAYOUT(88, 96, 104, 168, 512) },
};

_Static_assert(CAPTURE_PHP_FUNCTION_WORDS * 8 > 176, "has .at[PHP_LINE] of all versions");

#define KNOWN_CNT (sizeof(known) / sizeof(*known))

/* The first module is PHP's core. */
static int php_read_version(struct remote *r, uint64_t modules, struct runtime_layout *l)
{
	uint64_t module;

	if (!remote__u32(r, modules + PHP_TABLE_CNT))
		return -EAGAIN;
	module = remote__u64(r, remote__u64(r, modules + PHP_TABLE_BUCKETS));
	l->version = remote__u32(r, module + PHP_MODULE_API);
	if (remote__u8(r, module + PHP_MODULE_THREAD))
		l->version |= API_THREADS;
	return r->err ? -EAGAIN : 0;
}

static void php_print_version(uint32_t version, char *text, size_t sz)
{
	const char *threads = version & API_THREADS ? ", thread-safe" : "";
	uint32_t api = version & ~API_THREADS;

	for (size_t i = 0; i < KNOWN_CNT; i++) {
		if (known[i].api != api)
			continue;
		snprintf(text, sz, "%s%s", known[i].name, threads);
		return;
	}
	snprintf(text, sz, "API %u%s", api, threads);
}

static int php_find_layout(struct remote *r, const uint64_t *symbols, struct runtime_layout *l)
{
	int err = php_read_version(r, symbols[PHP_MODULES], l);

	if (err || !symbols[PHP_GLOBALS])
		return err ? err : -ENOTSUP;
	for (size_t i = 0; i < KNOWN_CNT; i++) {
		if (known[i].api != l->version)
			continue;
		memcpy(l->at, known[i].layout.at, sizeof(l->at));
		return 0;
	}
	return -ENOTSUP;
}

/* ---- execute_ex() -------------------------------------------------------------------------------
 */

#define PROLOGUE_SZ 64

/* What the start of a function does on x86-64. */
struct prologue {
	const uint8_t *at, *end;
	uint32_t saved; /* bytes pushed */
	uint32_t fp;	/* bytes pushed up to the frame pointer */
};

static bool php_skip_bytes(struct prologue *p, const char *bytes, size_t sz)
{
	if ((size_t)(p->end - p->at) < sz || memcmp(p->at, bytes, sz) != 0)
		return false;
	p->at += sz;
	return true;
}

static bool php_skip_push(struct prologue *p)
{
	bool wide = p->at < p->end && *p->at == 0x41;
	const uint8_t *op = p->at + wide;

	if (op >= p->end || (*op & 0xf8) != 0x50)
		return false;
	p->at = op + 1;
	p->saved += 8;
	if (!wide && *op == 0x55)
		p->fp = p->saved;
	return true;
}

/* Sets where execute_ex() keeps its caller's registers: pushes, then room for local variables. */
static void php_read_prologue(struct remote *r, uint64_t execute, struct runtime_layout *l)
{
	uint8_t bytes[PROLOGUE_SZ] = { 0 };
	struct prologue p = { bytes, bytes + sizeof(bytes) - 4, 0, 0 };
	struct remote code = { .mem = r->mem, .left = r->left };
	uint32_t room;

	if (!execute || !remote__read(&code, execute, bytes, sizeof(bytes)))
		return;
	php_skip_bytes(&p, "\xf3\x0f\x1e\xfa", 4);			   /* endbr64 */
	while (php_skip_push(&p) || php_skip_bytes(&p, "\x48\x89\xe5", 3)) /* mov %rsp,%rbp */
		;
	if (php_skip_bytes(&p, "\x48\x83\xec", 3))
		room = *p.at;
	else if (php_skip_bytes(&p, "\x48\x81\xec", 3))
		memcpy(&room, p.at, sizeof(room));
	else
		return;
	if (room > UINT16_MAX)
		return;
	l->at[PHP_RETURN] = room + p.saved;
	l->at[PHP_SAVED_FP] = p.fp ? room + p.saved - p.fp : 0;
}

/* ---- where calls are ----------------------------------------------------------------------------
 */

static void php_set_cookie(struct runtime_layout *l)
{
	l->cookie_off = l->at[PHP_OPS_CNT] % 8 * 8;
	l->cookie[0] = l->at[PHP_HANDLER] / 8;
	l->cookie[1] = l->at[PHP_OPS] / 8;
	l->cookie[2] = l->at[PHP_FILE] / 8;
}

static int php_locate(struct remote *r, const uint64_t *symbols, struct runtime_layout *l,
		      struct capture_runtime *c)
{
	int err = php_find_layout(r, symbols, l);
	uint64_t self = symbols[PHP_GLOBALS] + PHP_GLOBALS_SELF;

	if (err)
		return err;
	if (remote__u64(r, self) != self) /* before its first request */
		return -EAGAIN;
	php_read_prologue(r, symbols[PHP_EXECUTE], l);
	php_set_cookie(l);
	l->code_mask = UINT64_MAX;
	*c = (struct capture_runtime){ .state_off = { (int64_t)symbols[PHP_GLOBALS] },
				       .id_off = PHP_GLOBALS_SELF,
				       .first_off = l->at[PHP_FRAME],
				       .indirect = CAPTURE_NOT_INDIRECT,
				       .code = PHP_FRAME_FUNCTION,
				       .previous = PHP_FRAME_PREVIOUS,
				       .instr = PHP_FRAME_OP,
				       .word = PHP_FRAME_INFO,
				       .place = CAPTURE_AT_ADDRESS };
	return 0;
}

static bool php_may_have(const char *file)
{
	return strncmp(file, "php", 3) == 0 || strncmp(file, "libphp", 6) == 0;
}

/* ---- calls --------------------------------------------------------------------------------------
 */

/* C has called it, and execute_ex() runs it. */
static bool php_begins_activation(const struct event_call *c)
{
	return c->code && (uint32_t)c->word & PHP_CALL_TOP &&
	       (c->cookie & CAPTURE_PHP_TYPES) != CAPTURE_PHP_INTERNAL;
}

size_t php__split(const struct runtime_calls *c, struct runtime_run *runs)
{
	size_t cnt = 0, first = 0;

	for (size_t i = 0; i < c->cnt; i++) {
		if (!php_begins_activation(&c->calls[i]))
			continue;
		runs[cnt++] = (struct runtime_run){ first, i + 1 - first, 0, 0 };
		first = i + 1;
	}
	activations__assign(c, runs, cnt);
	if (first < c->cnt)
		runs[cnt++] = (struct runtime_run){ first, c->cnt - first, 0, 0 };
	return cnt;
}

/* execute_ex() has the frame and its place in the code in two registers (ZEND_VM_FP_GLOBAL_REG,
 * ZEND_VM_IP_GLOBAL_REG). It stores the place only before calls. */
#ifdef __x86_64__
enum { REG_FRAME = 14, REG_OP = 15 };
#else
enum { REG_FRAME = 27, REG_OP = 28 };
#endif

static uint64_t php_leaf_instr(const struct event *e, const struct event_call *c)
{
	return e->regs[REG_FRAME] == c->at ? e->regs[REG_OP] : c->instr;
}

/* Code that the JIT has made runs in the stack frame of execute_ex(), which jumps to it. */
enum managed_result php__step(struct code_walk *w, struct managed_frame *f)
{
	const struct managed_query *q = w->query;
	const uint32_t *at = w->layout->at;
	const struct mapping *m;
	uint64_t pc, fp = f->fp;

	if (!at[PHP_RETURN] || !snapshot__word(q->stack, f->sp + at[PHP_RETURN], &pc))
		return MANAGED_NONE;
	m = process__find(q->process, pc - 1);
	if (!m || m->kind != MAPPING_FILE || !m->path || !strrchr(m->path, '/') ||
	    !php_may_have(strrchr(m->path, '/') + 1))
		return MANAGED_NONE;
	if (at[PHP_SAVED_FP])
		snapshot__word(q->stack, f->sp + at[PHP_SAVED_FP], &fp);
	f->hidden = true;
	f->sp += at[PHP_RETURN] + 8;
	f->pc = pc;
	f->fp = fp;
	return MANAGED_STEPPED;
}

/* A function in C without a name is a frame at the end of a fiber, or in place of a constructor. */
static bool php_is_hidden(const struct script *s)
{
	return s->name && !*s->name;
}

static const char *const symbols[] = { [PHP_MODULES] = "module_registry",
				       [PHP_GLOBALS] = "executor_globals",
				       [PHP_EXECUTE] = "execute_ex",
				       NULL };

static const struct runtime_code code = { .step = php__step };

const struct runtime php = {
	.name = "php",
	.by_order = "php_order",
	.gone = "php_gone",
	.unknown = { .module = "[php]" },
	.symbols = symbols,
	.may_have = php_may_have,
	.locate = php_locate,
	.split = php__split,
	.read_described = php__read,
	.leaf_instr = php_leaf_instr,
	.code = &code,
	.keeps_name = true,
	.evaluator = { "execute_ex", php_may_have },
	.is_hidden = php_is_hidden,
	.print_version = php_print_version,
};
