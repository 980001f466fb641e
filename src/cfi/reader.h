/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the entries of .eh_frame and .debug_frame (DWARF 5, section 6.4; LSB 5.0 core, 10.6 for
 * .eh_frame). Follows only registers that packed rules need. Every byte is checked; the size of the
 * section bounds the time.
 */
#ifndef CFI_READER_H
#define CFI_READER_H

#include <stdbool.h>

#include "base/cursor.h"
#include "event/machine.h"
#include "cfi/packedrule.h"

#define DW_CFA_AARCH64_negate_ra_state_with_pc 0x2c /* AADWARF64 4.4.1; not in dwarf.h yet */

/* Bytes. A CIE is executed for each of its FDEs; real ones have 20 to 40. */
#define CFI_CIE_MAX 128

struct cfi_section {
	const uint8_t *data;
	size_t sz;
	uint64_t vaddr;
	bool eh; /* .eh_frame; false: .debug_frame */
};

enum saved_how {
	SAVED_SAME,	 /* not saved, or DW_CFA_same_value */
	SAVED_AT,	 /* at CFA + off */
	SAVED_UNDEFINED, /* cannot be recovered */
	SAVED_AT_FP,	 /* frame pointer only: at the address in the frame pointer */
	SAVED_AT_SP,	 /* at the frame's own stack pointer + off: in a signal frame */
	SAVED_OTHERWISE,
};

enum cfa_how { CFA_REGISTER, CFA_AT_FP, CFA_AT_SP, CFA_PLT, CFA_OTHERWISE };

/* Where the registers are saved at a place; cfi/interp.h sets and uses it. */
struct cfi_state {
	struct {
		enum cfa_how how;
		uint64_t reg;
		int64_t off;
	} cfa;
	struct cfi_saved {
		enum saved_how how;
		int64_t off;
	} fp, ra, sp;	/* sp SAVED_SAME: the stack pointer is the CFA */
	bool unwinding; /* MACHINE_EH_DATA_REG is saved */
	uint64_t rule;	/* packed_rule__bits() of all fields, or unknown */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t encoding; /* of locations, DW_EH_PE_* */
	bool has_data;	  /* FDEs have augmentation data */
	bool is_signal;
	struct cursor instructions;
	/* after execution of its instructions: */
	struct cfi_state initial; /* the state after its instructions */
	uint64_t followed;	  /* bit mask of the registers in it */
	bool begun, lost;
};

struct cfi_fde {
	uint64_t start,
		sz;  /* covered link-time addresses, or file offsets after table_rows__place() */
	uint64_t at; /* offset of its entry in the section */
	struct cfi_cie *cie; /* owned by the reader; valid until it reads the next CIE */
	struct cursor instructions;
	uint64_t enough; /* of the rows after this place only the first is needed */
};

struct cfi_reader {
	const struct cfi_section *section; /* borrowed */
	uint64_t cie_at;		   /* offset of the current CIE */
	struct cfi_cie cie;
	bool has_cie;
};

/* Reports every FDE in the order of the section, and skips invalid ones. The callee may change it.
 */
typedef void (*cfi_fde_fn)(struct cfi_fde *, void *arg);
void cfi_reader__each(struct cfi_reader *, cfi_fde_fn, void *arg);

/* Reads the FDE at that offset of the section. Returns false if there is none, or if it is invalid.
 */
bool cfi_reader__fde(struct cfi_reader *, uint64_t at, struct cfi_fde *);

/* Like cfi_reader__fde(), for a CIE. Its instructions point into the section's bytes. */
bool cfi_reader__cie(const struct cfi_section *, uint64_t at, struct cfi_cie *);

/* A rule from a place to the next row or the end. */
struct cfi_row {
	uint64_t at; /* counted like the FDE's start */
	struct packed_rule rule;
};

/* Receives rows in ascending order, in groups; the last row ends at `end`. May change them. */
typedef void (*cfi_rows_fn)(struct cfi_row *, size_t cnt, uint64_t end, void *arg);

#endif
