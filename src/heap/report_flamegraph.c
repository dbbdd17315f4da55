/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flame graph as one picture (draw/flame_draw.h); of a difference, what became more and less. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/sink.h"
#include "heap/heap_flame.h"
#include "heap/report.h"

/* "38.5 MiB in 4,883 blocks", "-195 KiB, +12 blocks" */
static void subheading(const struct heap_flame *f, struct buf *text)
{
	const struct flame_amount *all = flame_tree_amount(&f->tree, FLAME_ROOT, 0);

	if (!all->bytes && !all->count) {
		buf_text(text, "nothing to show: no stack counts here");
	} else if (f->changes) {
		const struct flame_change *c = f->changes;

		buf_printf(text,
			   "%s%s (%s%s bytes), %s%s blocks \xc2\xb7 a box is as wide as what "
			   "changed in it: red more, blue less",
			   c->bytes < 0 ? "-" : "+", size_text((uint64_t)llabs(c->bytes)),
			   c->bytes < 0 ? "-" : "+", count_text((uint64_t)llabs(c->bytes)),
			   c->count < 0 ? "-" : "+", count_text((uint64_t)llabs(c->count)));
	} else {
		buf_printf(text, "%s (%s bytes) in %s block%s, estimated from samples",
			   size_text(all->bytes), count_text(all->bytes), count_text(all->count),
			   all->count == 1 ? "" : "s");
	}
}

static int write_flamegraph(const struct profile *p, const struct heap_report_options *o,
			    struct sink *out, struct err *err)
{
	bool ever = o->measure == HEAP_ALLOC_SPACE || o->measure == HEAP_ALLOC_OBJECTS;
	enum heap_part part = o->base ? HEAP_CHANGED : HEAP_WHOLE;
	auto_buf struct buf above = { 0 }, below = { 0 };
	struct heap_flame f;

	heap_flame_init(&f, p, &(struct heap_flame_measure){ o->measure, part }, 1);
	buf_text(&above, o->title);
	if (o->base)
		buf_printf(&above, ", compared with %s", o->base);
	buf_printf(&above, ": %s, by %s", ever ? "allocated" : "alive",
		   heap_counts_objects(o->measure) ? "blocks" : "bytes");
	subheading(&f, &below);
	flame_draw(&(struct flame_picture){ .tree = &f.tree,
					    .names = &f.names,
					    .by_count = heap_counts_objects(o->measure),
					    .heading = above.data,
					    .subheading = below.data,
					    .changes = f.changes },
		   out);
	heap_flame_release(&f);
	return out->error;
}

const struct heap_report heap_report_flamegraph = {
	.name = "flamegraph",
	.help = "a flame graph, as one picture that zooms and searches (SVG)",
	.mime = "image/svg+xml",
	.extension = "svg",
	.write = write_flamegraph,
};
