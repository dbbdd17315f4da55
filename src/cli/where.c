/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks in tables.  See where.h. */
#include "cli/where.h"

#include <inttypes.h>

#include "base/buf_text.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/text.h"
#include "model/stats.h"
#include "query/group_frames.h"

static void abbreviated(const char *name, struct buf *out)
{
	auto_free char *text = text_abbreviated(name);

	buf_text(out, text);
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
	if (function && (!f->file || whole) && *module)
		buf_printf(out, " (%s)", path_base(module));
	if (whole && f->inlined)
		buf_text(out, " inlined");
}

static bool is_wrapper(const struct view *v, const struct location_frame *f)
{
	uint32_t function = f->function ? f->function : f->raw_function;

	return function && is_allocator_function(locations_string(v->locations, function));
}

void where_line(const struct view *v, uint32_t stack, unsigned frames, struct buf *out)
{
	const struct nodes *nodes = &v->model->tables.nodes;
	unsigned shown = 0, count;

	for (uint32_t id = stack; node_is_known(nodes, id) && shown < frames;
	     id = nodes->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		const struct location *at = locations_at(v->locations, location);
		const struct location_frame *f = locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count && shown < frames; i++) {
			if (!shown && is_wrapper(v, &f[i]))
				continue;
			buf_text(out, shown++ ? " \xe2\x86\x90 " : "");
			frame_text(v, at, &f[i], false, out);
		}
	}
	if (!node_is_known(nodes, stack))
		buf_text(out, "(no stack was recorded)");
	else if (!shown)
		buf_text(out, "(wrappers only)");
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
