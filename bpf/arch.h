/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the wire format that depend on the recorded architecture: one file for each. */
#ifndef BPF_ARCH_H
#define BPF_ARCH_H

#include <linux/types.h>

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#include "bpf/arch_arm64.h"
#elif defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#include "bpf/arch_x86.h"
#else
#error "no bpf/arch_*.h describes this architecture"
#endif

#endif
