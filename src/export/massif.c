/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* massif's output: what was alive at moments that are evenly spaced, and at the peak.
 *
 * Some of them, the peak always, have a tree of who allocated it, innermost function first.  What
 * is below a hundredth of its moment's total is joined, as massif does.  Bytes are those that were
 * asked for; the allocator's own are not counted.  Readers drop whatever follows a '#'. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/map.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "query/clock.h"
#include "query/series.h"
#include "query/stacks.h"
#include "query/tree.h"

#define MOMENTS 100 /* beside the start and the peak */
#define DETAILED 10 /* every so many of them have a tree */
#define THRESHOLD 0.01

struct massif {
	const struct export *x;
	struct sink *out;
	struct model_clock clock;
	/* The first address of a function's line, through the number of its function and file. */
	struct map functions, addresses;
	uint32_t number; /* of the next snapshot */
};

struct moment {
	uint64_t at, bytes;
	bool detailed, is_peak;
};

static void hide_hashes(struct buf *out, size_t start)
{
	for (size_t i = start; i < out->size; i++)
		if (out->data[i] == '#')
			out->data[i] = '_';
}

static uint64_t function_key(struct massif *m, uint32_t function, uint32_t file)
{
	uint64_t key = (uint64_t)function << 32 | file, id;

	map_number(&m->functions, key, &id);
	return id;
}

static void know_addresses(struct massif *m)
{
	struct locations *locations = m->x->view->locations;

	for (uint32_t i = 0; i < locations_count(locations); i++) {
		unsigned count;
		const struct location *location = locations_at(locations, i);
		const struct location_frame *frames = locations_frames(locations, i, &count);

		for (unsigned f = 0; f < count; f++) {
			uint64_t known, key;

			if (!frames[f].function)
				continue;
			key = function_key(m, frames[f].function, frames[f].file) << 32 |
			      frames[f].line;
			if (!map_get(&m->addresses, key, &known))
				map_set(&m->addresses, key, location->address);
		}
	}
}

static void put_label(struct massif *m, const struct tree *t, const struct tree_node *n)
{
	struct buf *out = &m->out->buf;
	const struct tree_name *name = &t->names[n->name];
	struct stack_frame f = {
		.function = name->function,
		.file = name->file,
		.line = name->line,
		.module = name->module,
		.address = name->address,
	};

	switch (name->kind) {
	case TREE_ROOT:
		buf_text(out, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
		break;
	case TREE_OTHERS:
		buf_printf(out, "in %u place%s, all below massif's threshold (%.2f%%)", n->hidden,
			   n->hidden == 1 ? "" : "s", THRESHOLD * 100);
		break;
	case TREE_FRAME:
		if (f.function)
			map_get(&m->addresses, function_key(m, f.function, f.file) << 32 | f.line,
				&f.address);
		stack_frame_label(m->x->view, &f, out);
		break;
	case TREE_NO_STACK:
	case TREE_THREAD:
		buf_text(out, "(no stack)");
		break;
	}
}

static uint32_t count_children(const struct tree *t, const struct tree_node *n)
{
	uint32_t count = 0;

	for (uint32_t i = n->first_child; i != TREE_NONE; i = t->nodes[i].next)
		count++;
	return count;
}

static void put_tree(struct massif *m, uint64_t at)
{
	struct tree_options how = {
		.measuring = { MEASURE_ALIVE_AT, at },
		.key = TREE_BY_LINE,
		.bottom_up = true,
		.min_share = THRESHOLD,
	};
	auto_release(tree_release) struct tree t = { 0 };

	tree_init(&t, m->x->view, &how);
	for (uint32_t i = 0; i < t.count && !sink_turn(m->out); i++) {
		const struct tree_node *n = &t.nodes[i];
		struct buf *out = &m->out->buf;
		size_t start;

		buf_repeat(out, ' ', n->depth);
		buf_printf(out, "n%u: %" PRIu64 " ", count_children(&t, n), n->total.bytes);
		start = out->size;
		put_label(m, &t, n);
		hide_hashes(out, start);
		buf_char(out, '\n');
	}
}

static void put_moment(struct massif *m, const struct moment *moment)
{
	bool tree = moment->bytes && (moment->detailed || moment->is_peak);

	buf_printf(&m->out->buf,
		   "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   m->number++, clock_ns(&m->clock, moment->at) / 1000000, moment->bytes,
		   !tree	     ? "empty"
		   : moment->is_peak ? "peak"
				     : "detailed");
	if (tree)
		put_tree(m, moment->at);
}

/* Both were added up in the same order of events, so a moment's bytes are its tree's. */
static void put_snapshots(struct massif *m)
{
	const struct view *v = m->x->view;
	struct view_peak peak = view_peak(v);
	struct moment at_peak = { .at = peak.at, .bytes = peak.bytes, .is_peak = true };
	auto_release(series_release) struct series s = { 0 };
	uint64_t from, to;
	bool peak_is_due = peak.at && peak.bytes;

	series_whole(v->model, &from, &to);
	series_init(&s, v, from, to, MOMENTS);
	put_moment(m, &(struct moment){ .at = from - (from > 0), .bytes = s.before.bytes });
	for (uint32_t i = 0; i < MOMENTS && !m->out->error; i++) {
		struct moment here = {
			.at = series_edge(&s, i + 1) - 1,
			.bytes = s.points[i].bytes,
			.detailed = (i + 1) % DETAILED == 0,
		};

		if (peak_is_due && at_peak.at <= here.at) {
			put_moment(m, &at_peak);
			peak_is_due = false;
		}
		if (here.at != at_peak.at)
			put_moment(m, &here);
		export_progress(m->x, i, MOMENTS);
	}
}

static int write_massif(const struct export *x, struct sink *out, struct err *err)
{
	struct massif m = { .x = x, .out = out, .clock = model_clock(x->view->model) };
	size_t start;

	buf_text(&out->buf, "desc: recorded by memoir " MEMOIR_VERSION "\ncmd: ");
	start = out->buf.size;
	export_command(x, &out->buf);
	hide_hashes(&out->buf, start);
	buf_text(&out->buf, "\ntime_unit: ms\n");
	know_addresses(&m);
	put_snapshots(&m);
	map_release(&m.functions);
	map_release(&m.addresses);
	return out->error;
}

const struct exporter exporter_massif = {
	.name = "massif",
	.extension = "massif.out",
	.mime = "text/plain; charset=utf-8",
	.viewer = "ms_print, massif-visualizer",
	.help = "what was alive over time, with trees of the peak and of ten moments",
	.events_only = true,
	.write = write_massif,
};
