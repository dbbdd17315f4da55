/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers of an HTTP server on any bytes: whole, and cut in the middle as they come in pieces; an
 * address, a name and labels on the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "client/http.h"
#include "client/pyroscope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(const uint8_t *data, size_t size, bool ended)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct err err = { .text = "" };
	struct buf body = { 0 };
	int e;

	if (size)
		memcpy(exact, data, size);
	e = http_parse_answer(exact, size, ended, &body, &err);
	if (e > 1 || (e < 0 && !*err.text) || (ended && !e) || body.size > size)
		abort();
	buf_release(&body);
	free(exact);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_address a;
	struct err err = { .text = "" };
	char *text = xmemdup0(data, size);

	one(data, size, true);
	one(data, size, false);
	one(data, size / 2, false);
	if (http_parse_address(&a, text, &err) && !*err.text)
		abort();
	labels(text);
	free(text);
	return 0;
}
