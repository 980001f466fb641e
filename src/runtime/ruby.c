// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CRuby 3.1 to 3.4, with and without YJIT. The control frames of a thread are an array. Several of
 * them share one activation of vm_exec(): Ruby calls Ruby without C.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/ruby_layout.h"
#include "runtime/threadslot.h"

/* The execution context of the thread that runs is in a thread-local variable, ruby_current_ec. */
static int ruby_find_slot(struct remote *r, const struct runtime_layout *l, uint64_t ec,
			  struct capture_runtime *c)
{
	uint64_t thread = remote__u64(r, ec + RUBY_EC_THREAD), native = thread;
	struct thread_slot slot = { 0 };

	if (l->at[RUBY_THREAD_NATIVE] != RUBY_NONE)
		native = remote__u64(r, thread + l->at[RUBY_THREAD_NATIVE]);
	thread_slot__vote(&slot, r, remote__u64(r, native + l->at[RUBY_ID]), ec);
	return r->err ? -EAGAIN : thread_slot__place(&slot, r, c);
}

static int ruby_locate(struct remote *r, const uint64_t *symbols, struct runtime_layout *l,
		       struct capture_runtime *c)
{
	uint64_t ec;
	int err = ruby__find_layout(r, symbols, l, &ec);

	if (err)
		return err;
	l->code_mask = UINT64_MAX;
	*c = (struct capture_runtime){ .id_path = { RUBY_EC_THREAD, l->at[RUBY_THREAD_NATIVE] },
				       .id_off = l->at[RUBY_ID],
				       .indirect = CAPTURE_NOT_INDIRECT,
				       .frame_sz = l->at[RUBY_FRAME_SIZE] };
	return ruby_find_slot(r, l, ec, c);
}

static bool ruby_may_have(const char *file)
{
	return strncmp(file, "libruby", 7) == 0 || strncmp(file, "ruby", 4) == 0;
}

static void ruby_print_version(uint32_t version, char *text, size_t sz)
{
	snprintf(text, sz, "%u.%u", version >> 8, version & 255);
}

static const char *const symbols[] = { [RUBY_API_VERSION] = "ruby_api_version",
				       [RUBY_OBJECT] = "rb_cObject",
				       [RUBY_STDOUT] = "rb_stdout",
				       [RUBY_CURRENT_VM] = "ruby_current_vm_ptr",
				       NULL };

static const struct runtime_code code = { .step = ruby__step };

const struct runtime ruby = {
	.name = "ruby",
	.by_order = "ruby_order",
	.gone = "ruby_gone",
	.unknown = { .module = "[ruby]" },
	.symbols = symbols,
	.may_have = ruby_may_have,
	.locate = ruby_locate,
	.split = ruby__split,
	.read = ruby__read,
	.cookie = ruby__cookie,
	.code = &code,
	.in_file = true,
	.has_core = true,
	.keeps_name = true,
	.waits = { { "pthread_cond_timedwait", runtime__is_c_library },
		   { "pthread_cond_wait", runtime__is_c_library } },
	.waiting = { .module = "[ruby]",
		     .name = "(waits for the GVL)",
		     .module_key = 0x79627572,
		     .name_key = 0x4c564720726f66 },
	.waits_for_turn = ruby__waits_for_turn,
	.print_version = ruby_print_version,
};
