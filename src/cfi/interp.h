/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes rows from the instructions of an FDE (DWARF 5, section 6.4). */
#ifndef CFI_INTERP_H
#define CFI_INTERP_H

#include "cfi/reader.h"

/* Reports the rows of an FDE. */
void cfi_fde__rows(const struct cfi_fde *, const struct machine *, cfi_rows_fn, void *arg);

#endif
