/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_JSON_H
#define STACKSEXPORT_JSON_H

/*
 * Puts null in place of NaN, Infinity and -Infinity in the JSON file that DuckDB wrote at `path`:
 * JSON has no such numbers (RFC 8259, section 6). 0 or -errno; reports.
 */
int json__make_valid(const char *path);

#endif
