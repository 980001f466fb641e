// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/push/curllib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/log.h"

/* Signatures of S3 requests work since this version. */
#define VERSION_MIN 0x075800 /* 7.88 */

static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

#define SYMBOL(name)                                          \
	{                                                     \
		"curl_" #name, offsetof(struct curllib, name) \
	}

static const struct {
	const char *name;
	size_t field;
} symbols[] = {
	SYMBOL(global_init),   SYMBOL(version_info), SYMBOL(easy_init),	     SYMBOL(easy_cleanup),
	SYMBOL(easy_reset),    SYMBOL(easy_setopt),  SYMBOL(easy_perform),   SYMBOL(easy_getinfo),
	SYMBOL(easy_strerror), SYMBOL(slist_append), SYMBOL(slist_free_all),
};

static int curllib_load_symbols(struct curllib *c)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void **field = (void **)((char *)c + symbols[i].field);

		*field = dlsym(c->handle, symbols[i].name);
		if (!*field) {
			log__error("libcurl has no %s", symbols[i].name);
			return -ENOSYS;
		}
	}
	return 0;
}

int curllib__load(struct curllib *c)
{
	const curl_version_info_data *version;
	int err;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !c->handle; i++)
		c->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!c->handle) {
		log__error("there is no libcurl, which sends to S3: install libcurl4 (Debian) or "
			   "libcurl (Fedora)");
		return -ENOENT;
	}
	err = curllib_load_symbols(c);
	if (err)
		return err;
	version = c->version_info(CURLVERSION_NOW);
	if (version->version_num < VERSION_MIN) {
		log__error("libcurl %s is too old to sign requests: 7.88 or newer is needed",
			   version->version);
		return -ENOSYS;
	}
	return c->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}
