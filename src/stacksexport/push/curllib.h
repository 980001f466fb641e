/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl, loaded when it is needed: stacksexport runs without it, also as a static program. */
#ifndef STACKSEXPORT_PUSH_CURLLIB_H
#define STACKSEXPORT_PUSH_CURLLIB_H

#include <curl/curl.h>

struct curllib {
	void *handle;
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_version_info) *version_info;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_easy_reset) *easy_reset;
	__typeof__(curl_easy_setopt) *easy_setopt;
	__typeof__(curl_easy_perform) *easy_perform;
	__typeof__(curl_easy_getinfo) *easy_getinfo;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
};

/* Returns 0, or -errno after logging what is missing. The library is never unloaded. */
int curllib__load(struct curllib *);

#endif
