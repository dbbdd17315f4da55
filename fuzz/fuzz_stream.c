/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A receiver and a hearer of announcements on any bytes.  However they are cut into pieces, the
 * same comes out, and nothing of it lies outside what came in. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "stream/keep.h"
#include "stream/receiver.h"

struct outcome {
	uint64_t taken, sum;
	int error;
	struct err err;
};

static int take(void *context, const void *bytes, size_t size, struct err *err)
{
	struct outcome *o = context;

	for (size_t i = 0; i < size; i++)
		o->sum = o->sum * 31 + ((const uint8_t *)bytes)[i];
	o->taken += size;
	return 0;
}

static void look_at(const struct stream_hello *h, const char *from, size_t size)
{
	const struct stream_text texts[] = { h->name, h->executable, h->host, h->arguments };
	char *name = keep_name(h);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].data < from || texts[i].data + texts[i].size > from + size)
			abort();
	if (!*name || *name == '.' || strchr(name, '/'))
		abort();
	free(name);
}

static struct outcome feed(const uint8_t *data, size_t size, size_t piece)
{
	struct outcome o = { 0 };
	struct receiver r;

	receiver_init(&r);
	for (size_t at = 0; at < size && !o.error; at += piece) {
		size_t n = size - at < piece ? size - at : piece;
		uint8_t *exact = xmalloc(n); /* so that a read beyond the end is seen */

		memcpy(exact, data + at, n);
		o.error = receiver_feed(&r, exact, n, take, &o, &o.err);
		free(exact);
	}
	if (r.greeted)
		look_at(&r.hello, r.part.data, r.part.size);
	if (r.received < o.taken || r.offset > size)
		abort();
	if (r.state == RECEIVER_DONE && (!r.known || r.received != o.taken))
		abort();
	receiver_release(&r);
	return o;
}

FUZZ(stream, data, size)
{
	struct stream_hello hello;
	struct outcome whole, pieces;
	uint8_t *exact;
	struct err err;

	if (!size)
		return 0;
	whole = feed(data + 1, size - 1, size);
	pieces = feed(data + 1, size - 1, 1u + data[0]);
	/* A header that is wrong is found out when it is complete: some of it may be taken. */
	if (whole.error != pieces.error ||
	    (!whole.error && (whole.taken != pieces.taken || whole.sum != pieces.sum)) ||
	    (whole.error && strcmp(whole.err.text, pieces.err.text)))
		abort();
	exact = xmalloc(size);
	memcpy(exact, data + 1, size - 1);
	if (!stream_get_announcement(exact, size - 1, &hello, &err))
		look_at(&hello, (const char *)exact, size - 1);
	free(exact);
	return 0;
}
