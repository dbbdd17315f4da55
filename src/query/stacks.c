/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks with names.  See stacks.h. */
#include "query/stacks.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "model/stats.h"

void stack_frames_of(struct stack_frames *s, const struct view *v, uint32_t stack)
{
	stack_frames_inner(s, v, stack, SIZE_MAX);
}

void stack_frames_inner(struct stack_frames *s, const struct view *v, uint32_t stack, size_t enough)
{
	const struct nodes *n = &v->model->tables.nodes;

	s->count = 0;
	for (uint32_t id = stack; node_is_known(n, id) && s->count < enough; id = n->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);
		const struct location *p = locations_at(v->locations, location);
		unsigned count;
		const struct location_frame *frames =
			locations_frames(v->locations, location, &count);

		for (unsigned i = 0; i < count; i++) {
			*xpush(s->rows, s->count, s->room) = (struct stack_frame){
				.location = location,
				.index = i,
				.function = frames[i].function,
				.file = frames[i].file,
				.line = frames[i].line,
				.column = frames[i].column,
				.module = p->module,
				.address = p->address,
				.inlined = frames[i].inlined,
			};
		}
	}
}

void stack_frames_release(struct stack_frames *s)
{
	free(s->rows);
	memset(s, 0, sizeof(*s));
}

static void add_utf8(struct buf *out, const char *text)
{
	utf8_add(out, text, strlen(text));
}

void stack_frame_name(const struct view *v, const struct stack_frame *f, struct buf *out)
{
	auto_buf struct buf unnamed = { 0 };

	if (f->function) {
		add_utf8(out, locations_string(v->locations, f->function));
		return;
	}
	locations_unnamed(v->locations, f->module, f->address, &unnamed);
	add_utf8(out, unnamed.data);
}

void stack_frame_label(const struct view *v, const struct stack_frame *f, struct buf *out)
{
	const char *module = locations_module_path(v->locations, f->module);
	size_t start = out->size;

	buf_printf(out, "0x%" PRIx64 ": ", f->address);
	stack_frame_name(v, f, out);
	if (f->file) {
		buf_text(out, " (");
		add_utf8(out, path_base(locations_string(v->locations, f->file)));
		if (f->line)
			buf_printf(out, ":%u", f->line);
		buf_char(out, ')');
	} else if (*module) {
		buf_text(out, " (in ");
		add_utf8(out, module);
		buf_char(out, ')');
	}
	text_in_line(out, start);
}

void text_in_line(struct buf *out, size_t start)
{
	for (size_t i = start; i < out->size; i++) {
		unsigned char c = (unsigned char)out->data[i];

		if (c < 0x20 || c == 0x7f)
			out->data[i] = ' ';
	}
}
