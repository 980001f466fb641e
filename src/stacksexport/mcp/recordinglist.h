/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recordings of the default folder. */
#ifndef STACKSEXPORT_MCP_RECORDINGLIST_H
#define STACKSEXPORT_MCP_RECORDINGLIST_H

#include "base/buf.h"

/* Appends a line per recording, the oldest first: its path, batches, size and age. At most 200, the
 * newest. */
void recording_list__append(struct buf *out);

#endif
