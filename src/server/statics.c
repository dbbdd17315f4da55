/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/dynamic_constants, /dynamic_statics: the question statics by Bytehound's paths,
 * and as text. */
#include "answer/statics.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/sink.h"
#include "server/request.h"

static void write_text(const struct statics *s, struct sink *out)
{
	struct buf *b = &out->buf;
	struct weight sum;
	size_t n;

	buf_printf(b, "%10s %10s %s\n", "SIZE", "COUNT", "SOURCE");
	buf_printf(b, "%10s %10" PRIu64 " all\n", size_text(s->total.bytes), s->total.count);
	for (size_t i = 0; i < s->count; i += n) {
		n = statics_of_file(s, i, &sum);
		buf_printf(b, "%10s %10" PRIu64 "   %s\n", size_text(sum.bytes), sum.count,
			   s->rows[i].file);
		for (size_t k = i; k < i + n; k++)
			buf_printf(b, "%10s %10" PRIu64 "     line %u\n",
				   size_text(s->rows[k].weight.bytes), s->rows[k].weight.count,
				   s->rows[k].line);
		sink_turn(out);
	}
}

static int answer_statics(struct request *r, struct sink *out)
{
	const char *path = r->route->path;
	const struct view *v = ask_view(&r->ask);
	struct statics s;

	if (!v)
		return -1;
	statics_init(&s, v, strstr(path, "constants") != NULL);
	if (strstr(path, "ascii_tree"))
		write_text(&s, out);
	else
		question_write(&question_statics, &r->ask, &s, out);
	statics_release(&s);
	return out->error;
}

#define TEXT "text/plain; charset=utf-8"
#define ROW(address, words, mime)                                                                  \
	{ address, METHOD_GET, words, .type = mime, .filters = true, .answer = answer_statics },   \
	{                                                                                          \
		address "/{name}", METHOD_GET, words "; the name is for the browser",              \
			.type = mime, .filters = true, .answer = answer_statics                    \
	}

const struct route routes_statics[] = {
	ROW("/data/{id}/dynamic_constants",
	    "leaked blocks of static initialisers that were split off as constants", NULL),
	ROW("/data/{id}/dynamic_constants_ascii_tree", "the same as text", TEXT),
	ROW("/data/{id}/dynamic_statics", "leaked blocks of the other static initialisers", NULL),
	ROW("/data/{id}/dynamic_statics_ascii_tree", "the same as text", TEXT),
	{ 0 },
};
