/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Any bytes as a file of jemalloc's statistics, and everything that is made of it for the page:
 * sums, steps from resident to allocated, advice, growth, JSON.  Numbers may be any; what is kept
 * is within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "fuzz.h"
#include "jemalloc/history.h"

FUZZ(history, data, size)
{
	struct err err = { .text = "", .offset = ERR_NO_OFFSET };
	struct buf out = { 0 };
	struct snapshots r;
	struct history h;
	struct json j = { .out = &out };
	int error;

	history_init(&h, "input", 4, 1 << 16);
	snapshots_memory(&r, data, size);
	error = history_read(&h, &r, NULL, NULL, &err);
	snapshots_close(&r);
	if (!error != (h.snapshots > 0) || (error && !*err.text) || h.document_count > 5 ||
	    h.point_count > HISTORY_POINTS + 1)
		abort();
	if (!error) {
		if (h.documents[h.document_count - 1].number != h.snapshots - 1 ||
		    !history_document(&h, h.snapshots - 1))
			abort();
		history_write(&j, &h, true);
		if (memchr(out.data, 0, out.size))
			abort();
	}
	buf_release(&out);
	history_release(&h);
	return 0;
}
