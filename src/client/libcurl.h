/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* libcurl, loaded when the first request is made: it brings 17 more libraries along, and every
 * command that asks nobody would start 3 ms later with them.
 *
 * Any thread may call it. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/err.h"

#define LIBCURL_FUNCTIONS(X)                                                                       \
	X(curl_global_init)                                                                        \
	X(curl_easy_init)                                                                          \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_getinfo)                                                                       \
	X(curl_easy_strerror)                                                                      \
	X(curl_easy_cleanup)                                                                       \
	X(curl_slist_append)                                                                       \
	X(curl_slist_free_all)                                                                     \
	X(curl_multi_init)                                                                         \
	X(curl_multi_add_handle)                                                                   \
	X(curl_multi_perform)                                                                      \
	X(curl_multi_poll)                                                                         \
	X(curl_multi_info_read)                                                                    \
	X(curl_multi_remove_handle)                                                                \
	X(curl_multi_cleanup)

struct libcurl {
#define X(name) typeof(name) *name;
	LIBCURL_FUNCTIONS(X)
#undef X
};

/* NULL with err (which may be NULL): it is not installed. */
const struct libcurl *libcurl_load(struct err *err);
