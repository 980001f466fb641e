// SPDX-License-Identifier: GPL-2.0-or-later
/* Detection of kernels that take a lock to copy from user memory, and the search of kernel symbols.
 */
#include "lib/capture_take.h"

#include "capture/feature.h"
#include "capture/usercopy.h"
#include "lib/shell.h"

/* ---- machine code -------------------------------------------------------------------------------
 */

struct insn {
	size_t at; /* in the function */
	uint8_t sz, bytes[6];
};

/* Instructions as they stand in real kernels, and where these have the functions. */
struct kernel {
	const char *name;
	uint64_t copy, check, look_up;
	uint32_t disabled_off;
	struct insn copy_checks, check_loads, check_looks_up; /* sz 0: it has none */
	bool takes_lock;
};

#ifdef __aarch64__
static const struct kernel kernels[] = {
	{ .name = "Debian 6.1.0-56-cloud (6.1.192) without the instruction that is the fix",
	  .copy = 0xffffb80c06ab9230,
	  .check = 0xffffb80c06b98ba0,
	  .look_up = 0xffffb80c06b25c50,
	  .disabled_off = 2888,
	  .copy_checks = { 0x6c, 4, { 0x41, 0x7e, 0x03, 0x94 } },
	  .check_looks_up = { 0x1c8, 4, { 0xba, 0x33, 0xfe, 0x97 } },
	  .takes_lock = true },
	{ .name = "Debian 6.1.0-56-cloud (6.1.192)",
	  .copy = 0xffffb80c06ab9230,
	  .check = 0xffffb80c06b98ba0,
	  .look_up = 0xffffb80c06b25c50,
	  .disabled_off = 2888,
	  .copy_checks = { 0x6c, 4, { 0x41, 0x7e, 0x03, 0x94 } },
	  .check_loads = { 0x1bc, 4, { 0x00, 0x48, 0x4b, 0xb9 } },
	  .check_looks_up = { 0x1c8, 4, { 0xba, 0x33, 0xfe, 0x97 } } },
};
static const struct insn jump = { 0x1c8, 4, { 0xba, 0x33, 0xfe, 0x17 } };
static const struct insn no_call = { 0x1c8, 4, { 0xba, 0x33, 0xfe, 0x57 } };
#else
static const struct kernel kernels[] = {
	{ .name = "6.1.192 without the fix",
	  .copy = 0xffffffff811bd480,
	  .check = 0xffffffff8120c760,
	  .look_up = 0xffffffff811fb6f0,
	  .disabled_off = 0x1418,
	  .copy_checks = { 0x53, 5, { 0xe8, 0x88, 0xf2, 0x04, 0x00 } },
	  .check_looks_up = { 0x114, 5, { 0xe8, 0x77, 0xee, 0xfe, 0xff } },
	  .takes_lock = true },
	{ .name = "Debian 5.10.0-46-cloud: there is no look-up yet",
	  .copy = 0xffffffffaaa19dc0,
	  .check = 0xffffffffaaabf4c0,
	  .disabled_off = 0x1418,
	  .copy_checks = { 0x42, 5, { 0xe8, 0xb9, 0x56, 0x0a, 0x00 } } },
	{ .name = "Debian 6.1.0-56-cloud (6.1.192)",
	  .copy = 0xffffffff9bc7aeb0,
	  .check = 0xffffffff9bd444e0,
	  .look_up = 0xffffffff9bcdf660,
	  .disabled_off = 0x1418,
	  .copy_checks = { 0x5a, 5, { 0xe8, 0xd1, 0x95, 0x0c, 0x00 } },
	  .check_loads = { 0x6a, 6, { 0x8b, 0x80, 0x18, 0x14, 0x00, 0x00 } },
	  .check_looks_up = { 0x1e4, 5, { 0xe8, 0x97, 0xaf, 0xf9, 0xff } } },
	{ .name = "Debian 7.2.12+deb14-cloud",
	  .copy = 0xffffffff816a4cc0,
	  .check = 0xffffffff817fde40,
	  .look_up = 0xffffffff81733740,
	  .disabled_off = 0x15fc,
	  .copy_checks = { 0x67, 5, { 0xe8, 0x14, 0x91, 0x15, 0x00 } },
	  .check_loads = { 0x7a, 6, { 0x8b, 0x80, 0xfc, 0x15, 0x00, 0x00 } },
	  .check_looks_up = { 0x1c5, 5, { 0xe8, 0x36, 0x57, 0xf3, 0xff } } },
	{ .name = "without CONFIG_HARDENED_USERCOPY",
	  .copy = 0xffffffff81000000,
	  .look_up = 0xffffffff81001000,
	  .disabled_off = 0x1418 },
};
static const struct insn jump = { 0x114, 5, { 0xe9, 0x77, 0xee, 0xfe, 0xff } };
static const struct insn no_call = { 0x114, 5, { 0xe7, 0x77, 0xee, 0xfe, 0xff } };
#endif

static void put(struct usercopy_code *code, const struct insn *insn)
{
	memcpy(code->bytes + insn->at, insn->bytes, insn->sz);
}

static bool takes_lock(const struct kernel *k, size_t sz)
{
	struct usercopy_code copy = { .addr = k->copy, .sz = sz };
	struct usercopy_code check = { .addr = k->check, .sz = sz };
	const struct usercopy_places places = {
		.syms = { [USERCOPY_COPY].addr = k->copy,
			  [USERCOPY_CHECK].addr = k->check,
			  [USERCOPY_LOOK_UP].addr = k->look_up },
		.disabled_off = k->disabled_off,
	};

	put(&copy, &k->copy_checks);
	put(&check, &k->check_loads);
	put(&check, &k->check_looks_up);
	return usercopy__takes_lock(&copy, &check, &places);
}

static void kernels_with_the_fix_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		print_message("%s\n", kernels[i].name);
		assert_int_equal(takes_lock(&kernels[i], USERCOPY_CODE_MAX), kernels[i].takes_lock);
	}
}

static void a_load_of_another_member_is_not_the_fix(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		struct kernel k = kernels[i];

		if (!k.check_loads.sz)
			continue;
		k.disabled_off += 4;
		assert_true(takes_lock(&k, USERCOPY_CODE_MAX));
	}
}

static void code_may_end_in_the_middle_of_a_call(void **state)
{
	const struct kernel *k = &kernels[0];
	size_t end = k->check_looks_up.at + k->check_looks_up.sz;

	(void)state;
	assert_true(takes_lock(k, end));
	assert_false(takes_lock(k, end - 1));
	assert_false(takes_lock(k, 0));
}

/* As its last instruction. */
static void a_jump_is_a_call(void **state)
{
	struct kernel k = kernels[0];

	(void)state;
	k.check_looks_up = jump;
	assert_true(takes_lock(&k, USERCOPY_CODE_MAX));
	k.check_looks_up = no_call;
	assert_false(takes_lock(&k, USERCOPY_CODE_MAX));
	k.check_looks_up = kernels[0].check_looks_up;
	k.check_looks_up.bytes[1]++;
	assert_false(takes_lock(&k, USERCOPY_CODE_MAX));
}

/* Its code can be read; the result depends on the kernel. */
static void the_running_kernel_is_checked(void **state)
{
	struct features *f = features__new();

	(void)state;
	assert_non_null(f);
	assert_in_range(usercopy__test(f), 0, 1);
	features__free(f);
}

/* ---- symbols ------------------------------------------------------------------------------------
 */

static int find(const char *folder, const char *text, struct ksym *syms, size_t cnt)
{
	char path[256];

	shell__write(folder, "kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", folder);
	return ksyms__find(path, syms, cnt);
}

static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _text\n"
			      "short\n"
			      "ffffffff81000040 T first\n"
			      "ffffffff81000040 t alias\n"
			      "ffffffff81000080 t first_and_more\n"
			      "ffffffff81000090 T last\n"
			      "ffffffffc0001000 t of_a_module\t[ext4]\n"
			      "ffffffffc0002000 t end\t[ext4]\n";

static void functions_have_bounds(void **state)
{
	struct ksym syms[] = { { .name = "alias" },
			       { .name = "first" },
			       { .name = "last" },
			       { .name = "of_a_module" },
			       { .name = "nowhere" } };

	assert_int_equal(find(*state, symbols, syms, 5), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(syms[i].addr, 0xffffffff81000040);
		assert_int_equal(syms[i].end, 0xffffffff81000080);
	}
	assert_int_equal(syms[2].addr, 0xffffffff81000090);
	for (size_t i = 2; i < 5; i++)
		assert_int_equal(syms[i].end, 0);
	assert_int_equal(syms[3].addr | syms[4].addr, 0);
}

static void hidden_addresses_are_reported(void **state)
{
	struct ksym sym = { .name = "first" };

	assert_int_equal(find(*state,
			      "0000000000000000 T _text\n"
			      "0000000000000000 T first\n",
			      &sym, 1),
			 -EPERM);
	assert_int_equal(sym.addr, 0);
	assert_int_equal(ksyms__find("/nonexistent/kallsyms", &sym, 1), -ENOENT);
}

RUN_TESTS(cmocka_unit_test(kernels_with_the_fix_are_told_apart),
	  cmocka_unit_test(a_load_of_another_member_is_not_the_fix),
	  cmocka_unit_test(code_may_end_in_the_middle_of_a_call),
	  cmocka_unit_test(a_jump_is_a_call), ROOT_TEST(the_running_kernel_is_checked),
	  test_with_folder(functions_have_bounds), test_with_folder(hidden_addresses_are_reported))
