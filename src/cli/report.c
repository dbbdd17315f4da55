/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A stack as text.  See report.h. */
#include "cli/report.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/text.h"
#include "model/stats.h"
#include "wire/shm.h"

#define INDENT 10 /* of frames */
/* A long stack shows its inner and its outer end. */
#define INNER_FRAMES 10
#define OUTER_FRAMES 3
#define FUNCTION_MIN 24 /* columns that a function keeps, however long its file's name */

/* One line of a stack. */
struct report_frame {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;
	const char *module; /* path; NULL: in none */
	uint64_t address;   /* as the ELF file counts; of the call itself 0 */
	bool inlined;
	const char *note; /* "cut here", or NULL */
};

static void add_frame(struct report *r, struct report_frame frame)
{
	r->frames = xgrow(r->frames, r->frame_count, &r->frame_room, sizeof(*r->frames));
	r->frames[r->frame_count++] = frame;
}

static const char *known(const struct report *r, uint32_t string)
{
	return string ? locations_string(r->locations, string) : NULL;
}

static void add_location(struct report *r, uint32_t id)
{
	const struct location *location = locations_at(r->locations, id);
	unsigned count;
	const struct location_frame *f = locations_frames(r->locations, id, &count);

	for (unsigned i = 0; i < count; i++)
		add_frame(r, (struct report_frame){
				     .function = known(r, f[i].function),
				     .file = known(r, f[i].file),
				     .line = f[i].line,
				     .module = location->module
						       ? locations_module_path(r->locations,
									       location->module)
						       : NULL,
				     .address = location->address,
				     .inlined = f[i].inlined,
			     });
}

static void find_frames(struct report *r, uint32_t stack, unsigned call)
{
	const struct nodes *n = &r->model->tables.nodes;
	unsigned flags = 0;

	r->frame_count = 0;
	add_frame(r, (struct report_frame){ .function = locations_call(r->locations, call) });
	if (!node_is_known(n, stack)) {
		r->frames[0].note = "no stack was recorded";
		return;
	}
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		flags = n->flags[id];
		add_location(r, locations_of_node(r->locations, id));
	}
	if (flags & NODE_TRUNCATED)
		r->frames[r->frame_count - 1].note = "deeper than the limit: cut here";
	else if (flags & NODE_BROKEN)
		r->frames[r->frame_count - 1].note = "no usable unwind information from here on";
}

/* "  file:line  (module)" */
static char *location_of(const struct report *r, const struct report_frame *f, bool with_module)
{
	struct buf text = { 0 };

	buf_text(&text, f->inlined ? " (inlined)" : "");
	if (f->file) {
		buf_printf(&text, "  %s", r->full ? f->file : path_base(f->file));
		if (f->line)
			buf_printf(&text, ":%u", f->line);
	}
	if (f->module && with_module && f->function)
		buf_printf(&text, "  (%s)", r->full ? f->module : path_base(f->module));
	if (f->note)
		buf_printf(&text, "  [%s]", f->note);
	return text.data;
}

static char *function_of(const struct report_frame *f)
{
	struct buf text = { 0 };

	if (f->function)
		return xstrdup(f->function);
	frame_unnamed(f->module, f->address, &text);
	return text.data;
}

static size_t room_beside(const struct report *r, const char *location)
{
	size_t taken = INDENT + text_columns(location);

	return r->term.width > taken + FUNCTION_MIN ? r->term.width - taken : FUNCTION_MIN;
}

static void print_frame(const struct report *r, struct buf *out, const struct report_frame *f,
			bool call)
{
	auto_free char *location = location_of(r, f, true);
	auto_free char *function = function_of(f);
	size_t room = r->full ? SIZE_MAX : room_beside(r, location);

	/* What does not fit loses its template arguments, then the module, then its end. */
	if (text_columns(function) > room) {
		char *shorter = text_abbreviated(function);

		free(function);
		function = shorter;
	}
	if (text_columns(function) > room && f->file) {
		free(location);
		location = location_of(r, f, false);
		room = room_beside(r, location);
	}
	buf_repeat(out, ' ', INDENT);
	buf_text(out, term_style(&r->term, call ? STYLE_STRONG : STYLE_FUNCTION));
	text_shortened(out, function, room);
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
	buf_text(out, term_style(&r->term, STYLE_DIM));
	buf_printable(out, location, strlen(location));
	buf_text(out, term_style(&r->term, STYLE_PLAIN));
	buf_char(out, '\n');
}

void report_stack(struct report *r, struct buf *out, uint32_t stack, unsigned call)
{
	size_t skip_from, skip_to;

	find_frames(r, stack, call);
	skip_from = skip_to = r->frame_count;
	if (!r->full && r->frame_count > INNER_FRAMES + OUTER_FRAMES + 1) {
		skip_from = INNER_FRAMES;
		skip_to = r->frame_count - OUTER_FRAMES;
	}
	for (size_t i = 0; i < r->frame_count; i++) {
		if (i == skip_from) {
			buf_repeat(out, ' ', INDENT);
			buf_printf(out, "%s\xe2\x80\xa6 %zu more frames%s\n",
				   term_style(&r->term, STYLE_DIM), skip_to - skip_from,
				   term_style(&r->term, STYLE_PLAIN));
			i = skip_to;
		}
		print_frame(r, out, &r->frames[i], i == 0);
	}
}
