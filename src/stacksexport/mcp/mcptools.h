/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tools of `stacksexport mcp`: each runs a command of this program that only reads. */
#ifndef STACKSEXPORT_MCP_MCPTOOLS_H
#define STACKSEXPORT_MCP_MCPTOOLS_H

#include <jansson.h>

/* Returns the result of tools/list: a new reference, or NULL if out of memory. */
json_t *mcp_tools__list(void);

/*
 * Runs a tool. Returns the result of tools/call, a new reference; isError is true if the tool
 * failed. Returns NULL, with the reason in error[sz], if there is no such tool or an argument is
 * wrong.
 */
json_t *mcp_tools__call(const char *name, const json_t *arguments, char *error, size_t sz);

#endif
