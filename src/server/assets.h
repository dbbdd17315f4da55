/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The files of the page, as web/build.py embeds them: sorted by path, gzip-compressed. */
#include <stddef.h>

struct asset {
	const char *path; /* "/index.html" */
	const char *type; /* for Content-Type */
	const char *etag; /* with its quotation marks; of what is inside */
	const unsigned char *gzip;
	size_t length; /* of gzip */
};

extern const struct asset assets[];
extern const size_t assets_count;
