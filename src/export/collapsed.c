/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collapsed stacks: one line a stack, "outermost;…;innermost [library] weight".
 *
 * Readers cut a line at its last blank and a stack at each ';', and take '#' in front for a
 * comment: a ';' or a line end in a name becomes another character, and no line starts with '#'. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "query/stacks.h"
#include "query/weigh.h"

static void make_harmless(struct buf *out, size_t start)
{
	text_in_line(out, start);
	for (size_t i = start; i < out->size; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	if (out->data[start] == '#')
		out->data[start] = '_';
}

static void put_process(struct buf *out, const char *process)
{
	size_t start = out->size;

	utf8_add(out, process, strlen(process));
	make_harmless(out, start);
	buf_char(out, ';');
}

static void put_name(struct buf *out, const struct view *v, const struct stack_frame *f)
{
	const char *module = path_base(locations_module_path(v->locations, f->module));
	size_t start = out->size;

	stack_frame_name(v, f, out);
	if (f->function) {
		buf_text(out, " [");
		utf8_add(out, *module ? module : "?", *module ? strlen(module) : 1);
		buf_char(out, ']');
	}
	make_harmless(out, start);
}

static int write_collapsed(const struct export *x, struct sink *out, struct err *err)
{
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };
	auto_release(stack_frames_release) struct stack_frames frames = { 0 };

	weigh_stacks(&weights, x->view, &x->measuring, false);
	for (uint32_t i = 0; i < weights.count && !sink_turn(out); i++) {
		const struct stack_weight *w = &weights.rows[i];

		if (!(x->by_count ? w->weight.count : w->weight.bytes))
			continue;
		stack_frames_of(&frames, x->view, w->stack);
		if (x->process)
			put_process(&out->buf, x->process);
		if (!frames.count)
			buf_text(&out->buf, "(no stack)");
		for (size_t f = frames.count; f-- > 0;) {
			put_name(&out->buf, x->view, &frames.rows[f]);
			if (f)
				buf_char(&out->buf, ';');
		}
		buf_printf(&out->buf, " %" PRIu64 "\n",
			   x->by_count ? w->weight.count : w->weight.bytes);
		export_progress(x, i, weights.count);
	}
	return out->error;
}

/* Lines of one process after those of another. */
static int add_collapsed(const struct export *x, struct merged_flame *m, struct sink *out)
{
	return write_collapsed(x, out, NULL);
}

const struct exporter exporter_collapsed = {
	.name = "collapsed",
	.extension = "txt",
	.mime = "text/plain; charset=utf-8",
	.viewer = "flamegraph.pl, inferno, speedscope, Perfetto, Firefox Profiler",
	.help = "collapsed stacks, one line each with its weight",
	.one_measure = true,
	.write = write_collapsed,
	.add = add_collapsed,
};
