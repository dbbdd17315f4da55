/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The self-contained page: what web/ builds, with the data in its place.  For memoir jemalloc
 * report. */
#include "jemalloc/report.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "jemalloc/report_page.h"

#define HOLE "id=\"data\">" /* and what is in the element until then, blanks and null */

/* JSON inside an element: what could end it is in strings only, where it has another notation. */
static void put_escaped(struct sink *out, struct buf *json)
{
	const char *from = json->data, *end = from + json->size;

	while (from < end) {
		const char *sign = memchr(from, '<', (size_t)(end - from));

		buf_add(&out->buf, from, (size_t)((sign ? sign : end) - from));
		if (!sign)
			break;
		buf_text(&out->buf, "\\u003c");
		from = sign + 1;
	}
	buf_clear(json);
	sink_turn(out);
}

int report_write(struct sink *out, const struct history *files, size_t count)
{
	const char *end = report_page + report_page_length;
	const char *hole =
		(char *)memmem(report_page, report_page_length, HOLE, strlen(HOLE)) + strlen(HOLE);
	const char *rest = memchr(hole, '<', (size_t)(end - hole));
	auto_buf struct buf text = { 0 };
	struct json j = { .out = &text, .compact = true };

	buf_add(&out->buf, report_page, (size_t)(hole - report_page));
	json_object(&j, NULL);
	json_text(&j, "version", MEMOIR_VERSION);
	JSON_ROWS_WHILE(&j, "files", i, i < count && !out->error) {
		history_write(&j, &files[i], true);
		put_escaped(out, &text);
	}
	json_end_object(&j);
	put_escaped(out, &text);
	buf_add(&out->buf, rest, (size_t)(end - rest));
	return sink_turn(out);
}
