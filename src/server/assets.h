/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The page's files, compressed, as the build put them into the program. */
#include <stddef.h>

struct asset {
	const char *path; /* "/index.html" */
	const char *type; /* of its content */
	const char *etag; /* with its quotes */
	const unsigned char *gzip;
	size_t length; /* of that */
};

extern const struct asset assets[];
extern const size_t assets_count;
