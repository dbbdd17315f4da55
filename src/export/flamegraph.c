/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flame graph of one measure (draw/flame_draw.h). */
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/sink.h"
#include "draw/flame_draw.h"
#include "export/export.h"
#include "export/flame.h"
#include "export/merged_flame.h"

/* "app: leaked", "app: alive at a moment, 1.50 s after the start". */
static void heading(const struct export *x, struct buf *text)
{
	const struct measure_row *row = &measure_rows[x->measuring.measure];

	buf_printf(text, "%s: %s, by %s", x->title, row->title, x->by_count ? "blocks" : "bytes");
	if (row->needs_time)
		buf_printf(text, ", %s after the start",
			   duration_text(model_ns(x->view->model, x->measuring.at)));
	if (row->needs_duration)
		buf_printf(text, ", less than %s",
			   duration_text((uint64_t)((double)x->measuring.at *
						    model_clock(x->view->model).ns_per_tick)));
}

static void subheading(const struct export *x, const struct flame_amount *all, struct buf *text)
{
	if (!(x->by_count ? all->count : all->bytes)) {
		buf_text(text, "nothing to show: no allocation counts here");
		return;
	}
	buf_printf(text, "%s in %s block%s", size_text(all->bytes), count_text(all->count),
		   all->count == 1 ? "" : "s");
	if (x->view->filter && x->view->bits) {
		buf_text(text, " \xc2\xb7 only: ");
		filter_print(x->view->filter, text);
	}
}

static void progress(void *context, uint64_t done, uint64_t total)
{
	export_progress(context, done, total);
}

static int draw(const struct export *x, const struct flame_tree *tree, struct flame_names names,
		const struct buf *above, const struct buf *below, struct sink *out)
{
	flame_draw(&(struct flame_picture){ .tree = tree,
					    .names = &names,
					    .by_count = x->by_count,
					    .heading = above->data,
					    .subheading = below->data,
					    .progress = progress,
					    .progress_context = (void *)x },
		   out);
	return out->error;
}

static int write_flamegraph(const struct export *x, struct sink *out, struct err *err)
{
	auto_buf struct buf above = { 0 }, below = { 0 };
	struct flame flame;

	flame_init(&flame, x->view, &x->measuring, 1);
	heading(x, &above);
	subheading(x, flame_tree_amount(&flame.tree, FLAME_ROOT, 0), &below);
	draw(x, &flame.tree, flame_names(&flame), &above, &below, out);
	flame_release(&flame);
	return out->error;
}

static int add_process(const struct export *x, struct merged_flame *m, struct sink *out)
{
	merged_flame_add(m, x);
	return 0;
}

static int draw_processes(const struct export *x, struct merged_flame *m, struct sink *out)
{
	const struct measure_row *row = &measure_rows[x->measuring.measure];
	const struct flame_amount *all = flame_tree_amount(&m->tree, FLAME_ROOT, 0);
	auto_buf struct buf above = { 0 }, below = { 0 };

	buf_printf(&above, "%s: %s, by %s", x->title, row->title, x->by_count ? "blocks" : "bytes");
	buf_printf(&below, "%s in %s blocks of %u processes", size_text(all->bytes),
		   count_text(all->count), m->processes);
	return draw(x, &m->tree, merged_flame_names(m), &above, &below, out);
}

const struct exporter exporter_flamegraph = {
	.name = "flamegraph",
	.extension = "svg",
	.mime = "image/svg+xml",
	.viewer = "any browser (zoom and search), any viewer of SVG",
	.help = "a flame graph, as one picture that zooms and searches",
	.one_measure = true,
	.write = write_flamegraph,
	.add = add_process,
	.finish = draw_processes,
};
