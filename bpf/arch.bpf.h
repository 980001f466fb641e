/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How BPF programs read registers and related data. Each architecture has one file with the same
 * macros and functions. All of them are inlined.
 */
#ifndef ARCH_BPF_H
#define ARCH_BPF_H

#ifdef __TARGET_ARCH_arm64
#include "bpf/arch_arm64.bpf.h"
#else
#include "bpf/arch_x86.bpf.h"
#endif

#endif
