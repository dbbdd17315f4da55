/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small texts.  See words.h. */
#include "answer/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "query/responsible.h"

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

void words_responsible(struct buf *out, const char *name)
{
	buf_text(out, "responsible = \"");
	for (const char *p = name; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_char(out, '\\');
		buf_char(out, *p);
	}
	buf_char(out, '"');
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
		if (columns_free_stack(c, i) == stack && columns_freed_at(c, i) != NEVER)
			return tags_free_call(columns_tags(c, i));
	return 0;
}

void words_where(struct json *j, const struct view *v, uint32_t stack)
{
	const struct responsible *r = responsible_of_view(v);
	struct responsible_frame at;
	const struct location_frame *f;
	unsigned count;

	if (!responsible_find(r, stack, &at)) {
		json_text(j, "function", "(no stack)");
		return;
	}
	f = &locations_frames(v->locations, at.location, &count)[at.index];
	if (f->function) {
		json_text(j, "function", locations_string(v->locations, f->function));
	} else {
		const struct location *place = locations_at(v->locations, at.location);
		struct buf text = { 0 };

		locations_unnamed(v->locations, place->module, place->address, &text);
		json_text(j, "function", text.data);
		buf_release(&text);
	}
	if (f->file)
		json_text(j, "source", locations_string(v->locations, f->file));
	if (f->line)
		json_number(j, "line", f->line);
	json_text(j, "kind", frame_kind_names[at.kind]);
	json_number(j, "frames_inside", responsible_depth(r, stack));
}

void words_markers(struct json *j, const struct model *m)
{
	const struct markers *t = &m->tables.markers;

	JSON_ROWS(j, "markers", i, t->count) {
		json_number(j, "at_ns", model_ns(m, t->rows[i].stamp));
		JSON_MEMBERS(j, &t->rows[i], value, name);
	}
}
