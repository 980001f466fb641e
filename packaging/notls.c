// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In the programs of the archive the functions of gnutls that Debian's libmicrohttpd.a calls are
 * weak and absent (package.mk): stacksexport serves plain HTTP on 127.0.0.1. These symbols are used
 * all the same.
 */
#include <stdlib.h>

int gnutls_global_init(void);
void gnutls_global_deinit(void);
extern void *(*gnutls_malloc)(size_t sz);

void *(*gnutls_malloc)(size_t sz) = malloc;

int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void)
{
}
