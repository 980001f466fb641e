/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WORKER_SANITIZED_H
#define WORKER_SANITIZED_H

/* Defined in a build with sanitizers: they need terabytes of address space, and more system calls
 * to report what they find. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

#endif
