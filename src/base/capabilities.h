/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities of the calling thread, as bit sets. Each thread has its own. */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPABILITY(n) (1ull << (n))

/* Fills `sets`. Returns 0 or -errno. */
static inline int capabilities__get(struct __user_cap_data_struct sets[2])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, sets) != 0 ? -errno : 0;
}

/* Returns the permitted capabilities, or 0 if the kernel does not report them. */
static inline uint64_t capabilities__permitted(void)
{
	struct __user_cap_data_struct sets[2];

	if (capabilities__get(sets) != 0)
		return 0;
	return (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
}

/* Drops all capabilities except `keep`, permanently: also for threads that this one starts. Returns
 * 0 or -errno. */
static inline int capabilities__keep(uint64_t keep)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	int err = capabilities__get(sets);

	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(keep >> (32 * i));
		sets[i].effective &= sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, sets) != 0 ? -errno : 0;
}

#endif
