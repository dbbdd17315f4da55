/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collapsed stacks: "outermost;…;innermost WEIGHT", a line each, for flame graphs.
 *
 * Readers cut a line at its last blank and a stack at each ';': one in a name becomes ':'. */
#include <inttypes.h>
#include <string.h>

#include "heap/report.h"

static void put_name(struct buf *out, const char *name)
{
	size_t start = out->size;

	buf_printable(out, name, strlen(name));
	for (size_t i = start; i < out->size; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	if (out->size > start && out->data[start] == '#')
		out->data[start] = '_';
}

static int write_collapsed(const struct profile *p, const struct heap_report_options *o,
			   struct sink *out, struct err *err)
{
	for (size_t i = 0; i < p->stack_count && !sink_turn(out); i++) {
		const struct profile_stack *s = &p->stacks[i];
		uint64_t weight = heap_weight(&s->amounts, o->measure);

		if (!weight)
			continue;
		if (!s->frame_count)
			buf_text(&out->buf, "(no stack)");
		for (size_t k = s->frame_count; k-- > 0;) {
			put_name(&out->buf, strings_at(&p->names, p->frames[s->frame + k]));
			if (k)
				buf_char(&out->buf, ';');
		}
		buf_printf(&out->buf, " %" PRIu64 "\n", weight);
	}
	return out->error;
}

const struct heap_report heap_report_collapsed = {
	.name = "collapsed",
	.help = "collapsed stacks, one line each with its weight",
	.mime = "text/plain; charset=utf-8",
	.write = write_collapsed,
};
