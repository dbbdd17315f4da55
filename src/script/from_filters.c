/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters of a view as a script's text.  See from_filters.h.
 *
 * A row of a filter becomes the method that list_filters.c makes of it; several rows about one
 * frame have no method together, and become the expression that they mean. */
#include "script/from_filters.h"

#include <stdio.h>
#include <string.h>

#include "answer/param.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "query/map_list.h"
#include "script/list.h"

static bool is_expression(const struct param *p)
{
	return !strcmp(p->name, "filter") || !strcmp(p->name, "custom_filter");
}

/* What a request's parameter filters by, if it is a row that allocations have too. */
static const struct filter_row *row_of(const struct param *p)
{
	return p->row || is_expression(p) || !*p->value ? NULL : filter_row_find(p->name);
}

bool script_leaves_out(const struct param *p)
{
	const struct filter_row *row = row_of(p);

	return row && !*row->meaning;
}

/* As both languages read it. */
static void add_quoted(struct buf *out, const char *text)
{
	buf_char(out, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_text(out, "\\n");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '"');
}

static void add_call(struct buf *out, const char *method)
{
	buf_printf(out, "\n  .%s(", method);
}

static void add_where(struct buf *out, const char *expression)
{
	add_call(out, "where");
	add_quoted(out, expression);
	buf_char(out, ')');
}

/* Is a number that a script gives the same as these digits? */
static bool is_number(enum filter_arg type, const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return (type == ARG_SIZE || type == ARG_COUNT || type == ARG_COUNT_OR_PERCENT ||
		type == ARG_NUMBER || type == ARG_IDS) &&
	       digits && !text[digits] && digits < 16 && (*text != '0' || digits == 1);
}

static void add_method(struct buf *out, const char *name, enum filter_arg type, const char *value)
{
	add_call(out, name);
	if (is_number(type, value))
		buf_text(out, value);
	else
		add_quoted(out, value);
	buf_char(out, ')');
}

static void add_flag(struct buf *out, const char *name, bool yes)
{
	/* only_temporary() is Bytehound's, and means something else. */
	if (!strcmp(name, "temporary"))
		name = "freed_at_once";
	buf_printf(out, "\n  .only_%s%s()", yes ? "" : "not_", name);
}

/* The method of a row that takes a value: what Bytehound's scripts call it, if they have it.  The
 * caller frees it. */
static char *method_of(const struct filter_row *row)
{
	for (const struct script_word *word = script_words; word->name; word++)
		if (!strcmp(word->meaning, row->meaning) && word->type == row->type)
			return xstrdup(word->name);
	return xasprintf("only_%s", row->name);
}

static void add_row(struct buf *out, const struct filter_row *row, const char *value)
{
	struct script_filter method;
	struct value v;

	if (row->type == ARG_YES_NO && !value_parse(&v, row->type, value, NULL)) {
		add_flag(out, row->name, v.number);
		value_release(&v);
	} else if (row->type == ARG_CHOICE && script_filter_find(value, &method)) {
		add_call(out, value); /* lifetime=only_leaked */
		buf_char(out, ')');
	} else if (row->type != ARG_CHOICE || strcmp(value, "all") != 0) {
		auto_free char *name = method_of(row);

		add_method(out, name, row->type, value);
	}
}

/* One of those that only maps have; others of the request are no filters. */
static void add_map_row(struct buf *out, const struct param *p)
{
	for (const struct map_filter_row *row = map_filter_rows; row->name; row++) {
		if (!strcmp(row->name, p->name) && row->type != ARG_CHOICE) {
			auto_free char *name = xasprintf("only_%s", p->name);

			add_method(out, name, row->type, p->value);
		} else if (!strcmp(row->name, p->name) ||
			   (!strcmp(row->name, "memoir") && !strcmp(p->name, "bytehound"))) {
			add_flag(out, row->name,
				 !strcmp(p->value, "only_true") || !strcmp(p->value, "yes"));
		}
	}
}

/* Rows that together say something of one frame. */
static void add_same_frame(struct buf *out, const struct params *p)
{
	struct filter *f = filter_new();
	const struct param *last = NULL;
	auto_buf struct buf text = { 0 };
	unsigned count = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct filter_row *row = row_of(&p->rows[i]);

		if (row && row->same_frame && !filter_add(f, row->name, p->rows[i].value, NULL)) {
			last = &p->rows[i];
			count++;
		}
	}
	if (count == 1)
		add_row(out, row_of(last), last->value);
	if (count > 1) {
		filter_print(f, &text);
		add_where(out, text.data);
	}
	filter_free(f);
}

/* Scripts become functions, and what they choose another choice of the list. */
static void add_scripts(const struct params *p, bool maps, struct buf *prologue, struct buf *out)
{
	unsigned count = 0;

	for (size_t i = 0; i < p->count; i++) {
		char number[16] = "";

		if (!p->rows[i].script)
			continue;
		if (count++)
			snprintf(number, sizeof(number), "_%u", count);
		buf_printf(prologue, "fn custom_filter%s() {\n%s\n}\n", number, p->rows[i].value);
		buf_printf(out,
			   maps ? ".where(custom_filter%s().filter())" : " & custom_filter%s()",
			   number);
	}
}

void script_from_filters(const struct params *p, bool maps, struct buf *ret_prologue,
			 struct buf *out)
{
	bool scripts = ANY(i, p->count, p->rows[i].script);

	buf_text(out, scripts ? "(" : "");
	buf_text(out, maps ? "maps()" : "allocations()");
	add_scripts(p, maps, ret_prologue, out);
	buf_text(out, scripts ? ")" : "");
	for (size_t i = 0; i < p->count; i++) {
		const struct param *one = &p->rows[i];
		const struct filter_row *row = row_of(one);

		if (!*one->value || one->script)
			continue;
		if (is_expression(one))
			add_where(out, one->value);
		else if (one->row && maps)
			add_map_row(out, one);
		else if (row && !row->same_frame && !script_leaves_out(one))
			add_row(out, row, one->value);
	}
	add_same_frame(out, p);
}
