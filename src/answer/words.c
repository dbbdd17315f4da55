/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small texts.  See words.h. */
#include "answer/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "model/stats.h"
#include "query/group_frames.h"

void words_address(struct json *j, const char *key, uint64_t address)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIX64, address);
	json_text(j, key, text);
}

/* Does a '<' here begin arguments?  Not in operator<, operator<<, operator<=>, operator-> … */
static bool begins_arguments(const char *name, const char *at)
{
	const char *word = at;

	if (at == name)
		return false; /* <lambda…>, <alloc::vec::Vec<T> as …> */
	while (word > name && strchr("<=-", word[-1]))
		word--;
	return word - name < 8 || memcmp(word - 8, "operator", 8) != 0;
}

void words_strip_templates(const char *name, struct buf *out)
{
	unsigned depth = 0;

	buf_text(out, "");
	for (const char *p = name; *p; p++) {
		bool arrow = *p == '>' && p > name && p[-1] == '-';

		if (*p == '<' && (depth || begins_arguments(name, p))) {
			if (!depth++)
				buf_text(out, "<...");
		} else if (*p == '>' && depth && !arrow) {
			if (!--depth)
				buf_char(out, '>');
		} else if (!depth) {
			buf_char(out, *p);
		}
	}
}

unsigned words_call(const struct model *m, uint32_t stack)
{
	const struct summary *s = model_summary(m);
	const struct columns *c = &m->allocations;
	uint32_t row = summary_row_of(s, stack);

	if (row != NO_SUMMARY)
		return s->rows[row].call;
	for (uint32_t i = 0; i < c->count; i++)
		if (c->free_stack[i] == stack && c->freed_at[i] != NEVER)
			return tags_free_call(c->tags[i]);
	return 0;
}

/* The innermost frame of a stack that is no wrapper; else the innermost of all; NULL: no stack. */
static const struct location_frame *frame_of(const struct model *m, struct locations *p,
					     uint32_t stack, uint32_t *ret_location)
{
	const struct nodes *nodes = &m->tables.nodes;
	const struct location_frame *innermost = NULL;

	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		unsigned count;
		uint32_t location = locations_of_node(p, id);
		const struct location_frame *f = locations_frames(p, location, &count);

		for (unsigned i = 0; i < count; i++) {
			bool wrapper = f[i].function &&
				       is_allocator_function(locations_string(p, f[i].function));

			if (!innermost || !wrapper)
				*ret_location = location;
			if (!wrapper)
				return &f[i];
			if (!innermost)
				innermost = &f[i];
		}
	}
	return innermost;
}

void words_where(struct json *j, const struct model *m, struct locations *p, uint32_t stack)
{
	uint32_t location = 0;
	const struct location_frame *f = frame_of(m, p, stack, &location);

	if (!f) {
		json_text(j, "function", "(no stack)");
		return;
	}
	if (f->function) {
		json_text(j, "function", locations_string(p, f->function));
	} else {
		const struct location *at = locations_at(p, location);
		struct buf text = { 0 };

		locations_unnamed(p, at->module, at->address, &text);
		json_text(j, "function", text.data);
		buf_release(&text);
	}
	if (f->file)
		json_text(j, "source", locations_string(p, f->file));
	if (f->line)
		json_number(j, "line", f->line);
}
