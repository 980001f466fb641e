/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads .eh_frame and .debug_frame: entries, and the rows that their instructions make (DWARF 5,
 * section 6.4; LSB 5.0 core, 10.6 for .eh_frame). Only what flat rules can say is followed; every
 * byte is checked, and time is bounded by the section's size.
 */
#ifndef CFI_READER_H
#define CFI_READER_H

#include <stdbool.h>

#include "base/cursor.h"
#include "event/machine.h"
#include "cfi/packedrule.h"
#include "cfi/verify.h"

#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c /* AADWARF64 4.4.1; not in dwarf.h yet */

#define CFI_CIE_MAX 128 /* bytes: it is run for each of its FDEs; real ones have 20 to 40 */

enum saved_how {
	SAVED_SAME,	 /* not, or DW_CFA_same_value */
	SAVED_AT,	 /* at CFA + off */
	SAVED_UNDEFINED, /* gone */
	SAVED_AT_FP,	 /* the frame pointer's: where it points */
	SAVED_AT_SP,	 /* at the frame's own stack pointer + off: in a signal frame */
	SAVED_OTHERWISE,
};

enum cfa_how { CFA_REGISTER, CFA_AT_FP, CFA_AT_SP, CFA_PLT, CFA_OTHERWISE };

/* Where the registers are at some place; of interp.c. */
struct cfi_state {
	struct {
		enum cfa_how how;
		uint64_t reg;
		int64_t off;
	} cfa;
	struct cfi_saved {
		enum saved_how how;
		int64_t off;
	} fp, ra, sp;	/* sp SAVED_SAME: it is the CFA */
	bool unwinding; /* MACHINE_EH_DATA_REG is saved */
	uint64_t rule;	/* packed_rule__bits() of all that, or not known */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t encoding; /* of locations, DW_EH_PE_* */
	bool has_data;	  /* FDEs have augmentation data */
	bool is_signal;
	struct cursor instructions;
	/* when it has begun: */
	struct cfi_state initial; /* what its instructions leave */
	uint64_t followed;	  /* registers in it: a bit for each */
	bool begun, lost;
};

struct cfi_fde {
	uint64_t start, sz;  /* link-time addresses that it covers; or as it was moved */
	uint64_t at;	     /* offset of its entry in the section */
	struct cfi_cie *cie; /* the reader's: until it reads the next one */
	struct cursor instructions;
	uint64_t enough; /* of rows that begin behind this place only the first is wanted */
};

struct cfi_reader {
	const struct cfi_section *section; /* borrowed */
	uint64_t cie_at;		   /* of the CIE in hand */
	struct cfi_cie cie;
	bool has_cie;
};

/* Every FDE in the order of the section, the callee's to change; those that make no sense are left
 * out. */
typedef void (*cfi_fde_fn)(struct cfi_fde *, void *arg);
void cfi_reader__each(struct cfi_reader *, cfi_fde_fn, void *arg);

/* The one at that offset of the section. False: there is none, or it makes no sense. */
bool cfi_reader__fde(struct cfi_reader *, uint64_t at, struct cfi_fde *);

/* The same of a CIE; its instructions are the section's bytes. */
bool cfi_reader__cie(const struct cfi_section *, uint64_t at, struct cfi_cie *);

/* What a flat rule says of a state: PACKED_ELSEWHERE where none can. */
struct packed_rule cfi_state__flatten(const struct cfi_state *, const struct cfi_cie *,
				      const struct machine *);

/* From a place on the rule holds, to the next row or the end. */
struct cfi_row {
	uint64_t at; /* as the FDE's start */
	struct packed_rule rule;
};

/* The rows of an FDE, ascending, some at a time; the last one goes to `end`. They are the callee's
 * to change. */
typedef void (*cfi_rows_fn)(struct cfi_row *, size_t cnt, uint64_t end, void *arg);
void cfi_reader__rows(const struct cfi_fde *, const struct machine *, cfi_rows_fn, void *arg);

#endif
