// SPDX-License-Identifier: GPL-2.0-or-later
/* Slots that other processes cannot predict. */
#include "lib/test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/seed.h"

#define CNT	 4096u
#define FIXED	 0x9e3779b97f4a7c15u /* a constant that is public in many programs */
#define FIXED_1	 0xf1de83e19937733du /* 1 / FIXED modulo 2^64 */
#define SLOT(of) ((of) & (CNT - 1))

/* Keys of one slot, if the multiplier is known. */
static void keys_do_not_collide(void **state)
{
	static uint8_t used[CNT];
	size_t slots = 0;

	(void)state;
	assert_true(FIXED * FIXED_1 == 1);
	for (uint64_t i = 0; i < CNT; i++) {
		uint64_t key = (i << 48 | i) * FIXED_1;

		assert_int_equal(SLOT(key * FIXED >> 24), 0);
		slots += !used[SLOT(seed__mix(key))]++;
	}
	assert_true(slots > CNT / 3); /* at random it is 1 - 1/e of them */
	for (size_t i = 0; i < CNT; i++)
		assert_true(used[i] < 32);
}

/* Started as a separate program, it prints its seed. */
static uint64_t seed_of_another(void)
{
	uint64_t seed = 0;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		execl("/proc/self/exe", "test_seed", "tell", NULL);
		_exit(127);
	}
	assert_int_equal(read(fds[0], &seed, sizeof(seed)), sizeof(seed));
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return seed;
}

static void each_process_has_its_own(void **state)
{
	uint64_t other = seed_of_another();

	(void)state;
	assert_true(other != seed__get());
	assert_true(other != seed_of_another());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_do_not_collide),
		cmocka_unit_test(each_process_has_its_own),
	};
	uint64_t seed = seed__get();

	if (argc > 1 && strcmp(argv[1], "tell") == 0)
		return write(STDOUT_FILENO, &seed, sizeof(seed)) != sizeof(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
