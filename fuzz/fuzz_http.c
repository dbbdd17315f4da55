/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An address, a name and labels on any bytes: what becomes a request is one line. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "client/http.h"
#include "client/pyroscope.h"
#include "fuzz.h"

/* What is accepted makes one request line. */
static void labels(const char *text)
{
	struct pyroscope p = { .label_count = 0 };
	struct http_address a;
	struct err err = { .text = "" };

	if ((pyroscope_server(&p, text, &err) || pyroscope_name(&p, text, &err)) && !*err.text)
		abort();
	for (unsigned i = 0; i <= PYROSCOPE_LABELS; i++)
		if (pyroscope_label(&p, text, &err) && !*err.text)
			abort();
	if (!pyroscope_target(&p, 1, 2, &a, &err))
		for (const char *c = a.target; *c; c++)
			if (*c <= ' ' || *c == 0x7f)
				abort();
}

FUZZ(http, data, size)
{
	struct http_address a;
	struct err err = { .text = "" };
	char *text = xmemdup0(data, size);

	if (http_parse_address(&a, text, &err) && !*err.text)
		abort();
	labels(text);
	free(text);
	return 0;
}
