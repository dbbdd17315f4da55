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
#include "query/responsible.h"
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
	enum frame_kind kind;
	const char *note; /* "cut here", or NULL */
};

static void add_frame(struct report *r, struct report_frame frame)
{
	*xpush(r->frames, r->frame_count, r->frame_room) = frame;
}

static const char *known(const struct report *r, uint32_t string)
{
	return string ? locations_string(r->view->locations, string) : NULL;
}

static void add_location(struct report *r, uint32_t id)
{
	const struct location *location = locations_at(r->view->locations, id);
	const struct responsible *kinds = r->followed ? NULL : responsible_of_view(r->view);
	unsigned count;
	const struct location_frame *f = locations_frames(r->view->locations, id, &count);

	for (unsigned i = 0; i < count; i++)
		add_frame(r, (struct report_frame){
				     .function = known(r, f[i].function),
				     .file = known(r, f[i].file),
				     .line = f[i].line,
				     .module = location->module
						       ? locations_module_path(r->view->locations,
									       location->module)
						       : NULL,
				     .address = location->address,
				     .inlined = f[i].inlined,
				     .kind = kinds ? responsible_kind(kinds, id, i) : FRAME_PROGRAM,
			     });
}

static void find_frames(struct report *r, uint32_t stack, unsigned call)
{
	const struct nodes *n = &r->view->model->tables.nodes;
	unsigned flags = 0;

	r->frame_count = 0;
	add_frame(r, (struct report_frame){ .function = locations_call(r->view->locations, call) });
	if (!node_is_known(n, stack)) {
		r->frames[0].note = "no stack was recorded";
		return;
	}
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		flags = n->flags[id];
		add_location(r, locations_of_node(r->view->locations, id));
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

/* How many frames from `i` on are not the program's; the first of all is the call. */
static size_t others_from(const struct report *r, size_t i)
{
	size_t n = 0;

	while (i && i + n < r->frame_count && r->frames[i + n].kind != FRAME_PROGRAM &&
	       !r->frames[i + n].note)
		n++;
	return n;
}

static void print_count(const struct report *r, struct buf *out, size_t count, const char *what)
{
	buf_repeat(out, ' ', INDENT);
	term_printf(&r->term, out, "{dim}\xe2\x80\xa6 %zu %s{}\n", count, what);
}

void report_stack(struct report *r, struct buf *out, uint32_t stack, unsigned call)
{
	size_t shown = 0, last;

	find_frames(r, stack, call);
	/* A long stack shows its inner and its outer end; what calls main() does not count. */
	last = r->frame_count;
	while (!r->full && last > 1 && r->frames[last - 1].kind != FRAME_PROGRAM)
		last--;
	last -= last > OUTER_FRAMES ? OUTER_FRAMES : 0;
	for (size_t i = 0; i < r->frame_count; i++) {
		size_t others = r->full ? 0 : others_from(r, i);

		if (others > 1 && others < r->frame_count - 1) {
			print_count(r, out, others, "frames of allocator, libraries or runtime");
			i += others - 1;
			continue;
		}
		if (!r->full && shown == INNER_FRAMES && i + 1 < last) {
			print_count(r, out, last - i, "more frames");
			i = last;
		}
		print_frame(r, out, &r->frames[i], i == 0);
		shown++;
	}
}
