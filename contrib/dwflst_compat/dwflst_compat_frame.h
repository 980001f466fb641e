/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part of dwflst_compat.h: functions for frames of samples and for machines, which depend on
 * nothing but their arguments. Include dwflst_compat.h instead.
 */
#ifndef DWFLST_COMPAT_FRAME_H
#define DWFLST_COMPAT_FRAME_H

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <stdbool.h>
#include <string.h>

#include "stacktrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- frames -----------------------------------------------------------------------------------
 */

static inline bool dwflst_compat_frame_pc(Dwfl_Frame *state, Dwarf_Addr *pc, bool *isactivation)
{
	const struct stacktrace_frame *f = (const struct stacktrace_frame *)(void *)state;

	*pc = f->pc;
	if (isactivation)
		*isactivation = f->place == f->pc;
	return true;
}
#define dwfl_frame_pc dwflst_compat_frame_pc

/* Only the stack pointer has a value: DWARF register 7 (rsp) on x86-64, 31 (sp) on arm64. */
static inline int dwflst_compat_frame_reg(Dwfl_Frame *state, unsigned regno, Dwarf_Word *val)
{
	const struct stacktrace_frame *f = (const struct stacktrace_frame *)(void *)state;

#if defined(__aarch64__)
	const unsigned sp = 31;
#else
	const unsigned sp = 7;
#endif
	if (regno != sp)
		return -1;
	*val = f->sp;
	return 0;
}
#define dwfl_frame_reg dwflst_compat_frame_reg

#if !_ELFUTILS_PREREQ(0, 192)
typedef enum {
	DWFL_UNWOUND_NONE,
	DWFL_UNWOUND_INITIAL_FRAME,
	DWFL_UNWOUND_EH_CFI,
	DWFL_UNWOUND_DWARF_CFI,
	DWFL_UNWOUND_EBL,
} Dwfl_Unwound_Source;

static inline const char *dwfl_unwound_source_str(Dwfl_Unwound_Source source)
{
	static const char *const names[] = { "none", "initial", "eh_frame", "dwarf", "ebl" };

	return (unsigned)source < sizeof(names) / sizeof(names[0]) ? names[source] : "unknown";
}
#endif

/* Does not distinguish .eh_frame from .debug_frame. A frame found without call-frame information
 * is reported as found by its frame pointer (EBL). */
static inline Dwfl_Unwound_Source dwflst_compat_frame_unwound_source(Dwfl_Frame *state)
{
	const struct stacktrace_frame *f = (const struct stacktrace_frame *)(void *)state;

	return (Dwfl_Unwound_Source)(f->found == STACKTRACE_BY_SAMPLE ? 1
				     : f->found == STACKTRACE_BY_CFI  ? 2
								      : 4);
}
#define dwfl_frame_unwound_source dwflst_compat_frame_unwound_source

/* ---- machines (0.196) -------------------------------------------------------------------------
 */

static inline GElf_Half dwflst_arch_from_uname(const char *machine)
{
	static const struct {
		const char *name;
		GElf_Half elf;
	} names[] = { { "x86_64", EM_X86_64 },
		      { "i386", EM_386 },
		      { "i686", EM_386 },
		      { "aarch64", EM_AARCH64 } };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(machine, names[i].name, strlen(names[i].name)) == 0)
			return names[i].elf;
	return EM_NONE;
}

/* Returns the least number of registers that a sample has, or 0 if the machine is not supported. */
static inline uint32_t dwflst_arch_expected_frame_nregs(GElf_Half machine)
{
	return machine == EM_X86_64 ? 17 : machine == EM_386 ? 9 : machine == EM_AARCH64 ? 14 : 0;
}

/* Returns the DWARF number of the stack pointer, or -1 if the machine is not supported. */
static inline int dwflst_arch_sp_dwarf_reg(GElf_Half machine, bool abi32)
{
	if (machine == EM_X86_64 || machine == EM_386)
		return abi32 || machine == EM_386 ? 4 : 7;
	return machine != EM_AARCH64 ? -1 : abi32 ? 13 : 31;
}

/* Returns the index of the stack pointer among the values of a perf sample (mask 0: a sample
 * with all registers). Returns -1 if the machine is not supported, -2 if the mask does not have
 * the stack pointer. */
static inline int dwflst_arch_sp_perf_reg(GElf_Half machine, uint64_t mask, bool abi32)
{
	int sp = dwflst_arch_sp_dwarf_reg(machine, abi32);

	if (machine == EM_X86_64 || machine == EM_386)
		sp = 7;
	if (sp < 0 || mask == 0)
		return sp;
	return mask >> sp & 1 ? __builtin_popcountll(mask & ((1ULL << sp) - 1)) : -2;
}

#ifdef __cplusplus
}
#endif

#endif
