/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks with names.  See stacks.h. */
#include "export/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/stats.h"

void stack_frames_of(struct stack_frames *s, const struct view *v, uint32_t stack)
{
	const struct nodes *n = &v->model->tables.nodes;

	s->count = 0;
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		uint32_t place = places_of_node(v->places, id);
		const struct place *p = places_at(v->places, place);
		unsigned count;
		const struct place_frame *frames = places_frames(v->places, place, &count);

		for (unsigned i = 0; i < count; i++) {
			s->rows = xgrow(s->rows, s->count, &s->room, sizeof(*s->rows));
			s->rows[s->count++] = (struct stack_frame){
				.place = place,
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

void stack_frame_name(const struct view *v, const struct stack_frame *f, struct buf *out)
{
	if (f->function)
		buf_text(out, places_string(v->places, f->function));
	else
		buf_printf(out, "0x%" PRIx64, f->address);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
