// SPDX-License-Identifier: GPL-2.0-or-later
/* Detection of kernels whose copy from user memory takes a lock, and the search of kernel symbols.
 */
#include "capture_take.h"

#include "capture/usercopy.h"
#include "shell.h"

/* ---- machine code -------------------------------------------------------------------------------
 */

struct call {
	size_t at; /* in the function */
	uint8_t bytes[5];
};

/* Calls in real kernels, and the addresses of the functions there. */
struct kernel {
	const char *name;
	uint64_t copy, check, look_up, okay;
	struct call copy_checks, copy_asks, check_looks_up; /* no bytes: no such call */
	bool takes_lock;
};

static const struct kernel kernels[] = {
	{ .name = "Debian 5.10.0-46-cloud: there is no look-up yet",
	  .copy = 0xffffffffaaa19dc0,
	  .check = 0xffffffffaaabf4c0,
	  .okay = 0xffffffffaa86d800,
	  .copy_checks = { 0x42, { 0xe8, 0xb9, 0x56, 0x0a, 0x00 } } },
	{ .name = "6.1.192 without the fix",
	  .copy = 0xffffffff811bd480,
	  .check = 0xffffffff8120c760,
	  .look_up = 0xffffffff811fb6f0,
	  .okay = 0xffffffff8104a3d0,
	  .copy_checks = { 0x53, { 0xe8, 0x88, 0xf2, 0x04, 0x00 } },
	  .check_looks_up = { 0x114, { 0xe8, 0x77, 0xee, 0xfe, 0xff } },
	  .takes_lock = true },
	{ .name = "Debian 6.1.0-56-cloud (6.1.192)",
	  .copy = 0xffffffff91e7aeb0,
	  .check = 0xffffffff91f444e0,
	  .look_up = 0xffffffff91edf660,
	  .okay = 0xffffffff91c7fa20,
	  .copy_checks = { 0x5a, { 0xe8, 0xd1, 0x95, 0x0c, 0x00 } },
	  .copy_asks = { 0x37, { 0xe8, 0x34, 0x4b, 0xe0, 0xff } },
	  .check_looks_up = { 0x1e4, { 0xe8, 0x97, 0xaf, 0xf9, 0xff } } },
	{ .name = "Debian 7.3.4+deb13-cloud",
	  .copy = 0xffffffffafa61f10,
	  .check = 0xffffffffafbaa410,
	  .look_up = 0xffffffffafae9d90,
	  .okay = 0xffffffffaf73b9a0,
	  .copy_checks = { 0x57, { 0xe8, 0xa4, 0x84, 0x14, 0x00 } },
	  .copy_asks = { 0x34, { 0xe8, 0x57, 0x9a, 0xcd, 0xff } },
	  .check_looks_up = { 0x1bc, { 0xe8, 0xbf, 0xf7, 0xf3, 0xff } } },
	{ .name = "without CONFIG_HARDENED_USERCOPY",
	  .copy = 0xffffffff81000000,
	  .look_up = 0xffffffff81001000,
	  .okay = 0xffffffff81002000 },
};

static void put(struct usercopy_code *code, const struct call *call)
{
	memcpy(code->bytes + call->at, call->bytes, sizeof(call->bytes));
}

static bool takes_lock(const struct kernel *k, size_t sz)
{
	struct usercopy_code copy = { .addr = k->copy, .sz = sz };
	struct usercopy_code check = { .addr = k->check, .sz = sz };
	const struct ksym syms[USERCOPY_SYM_CNT] = { [USERCOPY_COPY].addr = k->copy,
						     [USERCOPY_CHECK].addr = k->check,
						     [USERCOPY_LOOK_UP].addr = k->look_up,
						     [USERCOPY_FIXED].addr = k->okay };

	put(&copy, &k->copy_checks);
	put(&copy, &k->copy_asks);
	put(&check, &k->check_looks_up);
	return usercopy__takes_lock(&copy, &check, syms);
}

static void kernels_with_the_fix_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		print_message("%s\n", kernels[i].name);
		assert_int_equal(takes_lock(&kernels[i], USERCOPY_CODE_MAX), kernels[i].takes_lock);
	}
}

static void code_may_end_in_the_middle_of_a_call(void **state)
{
	const struct kernel *k = &kernels[1];

	(void)state;
	assert_true(takes_lock(k, 0x114 + 5));
	assert_false(takes_lock(k, 0x114 + 4));
	assert_false(takes_lock(k, 0));
}

/* As its last instruction. */
static void a_jump_is_a_call(void **state)
{
	struct kernel k = kernels[1];

	(void)state;
	k.check_looks_up.bytes[0] = 0xe9;
	assert_true(takes_lock(&k, USERCOPY_CODE_MAX));
	k.check_looks_up.bytes[0] = 0xe7;
	assert_false(takes_lock(&k, USERCOPY_CODE_MAX));
	k.check_looks_up = kernels[1].check_looks_up;
	k.check_looks_up.bytes[1]++;
	assert_false(takes_lock(&k, USERCOPY_CODE_MAX));
}

/* Its code can be read; the result depends on the kernel. */
static void the_running_kernel_is_checked(void **state)
{
	(void)state;
	assert_in_range(usercopy__test(), 0, 1);
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
	  cmocka_unit_test(code_may_end_in_the_middle_of_a_call),
	  cmocka_unit_test(a_jump_is_a_call), ROOT_TEST(the_running_kernel_is_checked),
	  test_with_folder(functions_have_bounds), test_with_folder(hidden_addresses_are_reported))
