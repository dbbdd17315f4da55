/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks in tables.  See where.h. */
#include "cli/where.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/text.h"
#include "model/stats.h"
#include "query/responsible.h"

static void abbreviated(const char *name, struct buf *out)
{
	auto_free char *text = text_abbreviated(name);

	buf_text(out, text);
}

/* The program itself need not be named with each of its functions. */
static bool is_program(const struct model *m, const char *module)
{
	const char *program = model_info(m, "executable");

	return program && !strcmp(program, module);
}

static void frame_text(const struct view *v, const struct location *at,
		       const struct location_frame *f, bool whole, struct buf *out)
{
	struct locations *p = v->locations;
	uint32_t function = f->function ? f->function : f->raw_function;
	const char *module = locations_module_path(p, at->module);

	if (!function)
		locations_unnamed(p, at->module, at->address, out);
	else if (whole)
		buf_text(out, locations_string(p, function));
	else
		abbreviated(locations_string(p, function), out);
	if (f->file)
		buf_printf(out, " %s", path_base(locations_string(p, f->file)));
	if (f->file && f->line)
		buf_printf(out, ":%u", f->line);
	if (function && (!f->file || whole) && *module && (whole || !is_program(v->model, module)))
		buf_printf(out, " (%s)", path_base(module));
	if (whole && f->inlined)
		buf_text(out, " inlined");
}

/* Frames outwards from the responsible one; of those between, how many. */
struct where_walk {
	const struct view *v;
	const struct responsible *r;
	struct responsible_frame first;
	unsigned shown, most, between;
	struct buf *out;
};

static void where_frame(struct where_walk *w, uint32_t location, unsigned i,
			const struct location_frame *f)
{
	bool is_first = location == w->first.location && i == w->first.index;

	if (!w->shown && !is_first)
		return;
	if (w->shown && responsible_kind(w->r, location, i) != FRAME_PROGRAM) {
		w->between++;
		return;
	}
	if (w->shown && w->between)
		buf_printf(w->out, " \xe2\x86\x90 +%u", w->between);
	buf_text(w->out, w->shown ? " \xe2\x86\x90 " : "");
	frame_text(w->v, locations_at(w->v->locations, location), f, false, w->out);
	w->shown++;
	w->between = 0;
}

void where_line(const struct view *v, uint32_t stack, unsigned frames, struct buf *out)
{
	const struct nodes *nodes = &v->model->tables.nodes;
	struct where_walk w = { .v = v, .r = responsible_of_view(v), .most = frames, .out = out };
	unsigned count, inside;

	if (!responsible_find(w.r, stack, &w.first)) {
		buf_text(out, "(no stack was recorded)");
		return;
	}
	for (uint32_t id = stack; node_is_known(nodes, id) && w.shown < frames;
	     id = nodes->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		const struct location_frame *f = locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count && w.shown < frames; i++)
			where_frame(&w, location, i, &f[i]);
	}
	inside = responsible_depth(w.r, stack);
	if (inside)
		buf_printf(out, " (+%u inside)", inside);
}

void where_lines(const struct view *v, uint32_t stack, unsigned call, struct buf *out)
{
	const struct nodes *nodes = &v->model->tables.nodes;
	unsigned count;

	buf_text(out, locations_call(v->locations, call));
	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		const struct location *at = locations_at(v->locations, location);
		const struct location_frame *f = locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count; i++) {
			buf_char(out, '\n');
			frame_text(v, at, &f[i], true, out);
		}
	}
}
