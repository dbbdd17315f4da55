/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading libcurl.  See libcurl.h. */
#include "client/libcurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static struct libcurl functions;
static bool complete;

/* It stays loaded: what it uses does not like to be unloaded. */
static void load_functions(void)
{
	/* GnuTLS comes first: libmicrohttpd and libdebuginfod have it too. */
	void *library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	complete = library != NULL;
#define X(name)                                                                                    \
	*(void **)&functions.name = library ? dlsym(library, #name) : NULL;                        \
	complete &= functions.name != NULL;
	LIBCURL_FUNCTIONS(X)
#undef X
	complete = complete && !functions.curl_global_init(CURL_GLOBAL_DEFAULT);
}

const struct libcurl *libcurl_load(struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_functions);
	if (complete)
		return &functions;
	err_set(err, -ENOENT, "libcurl-gnutls.so.4 is not installed (package libcurl3-gnutls)");
	return NULL;
}
