/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question complete: what may stand at a position of an expression.
 *
 * Names of functions, files and modules come with the most used first. See complete.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "answer/complete.h"
#include "answer/question.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/cursor.h"
#include "query/steps.h"

#define ITEMS_MAX 200

struct listing {
	struct ask *ask;
	struct answer_complete *answer;
	const struct cursor *c;
	const char *typed; /* what is there already */
	uint32_t left;
};

static void add_item(struct listing *l, const char *text, const char *kind, const char *help)
{
	struct answer_complete *a = l->answer;

	if (!l->left)
		return;
	l->left--;
	*xpush(a->items, a->count, a->room) = (struct completion){
		.text = xstrdup(text), .help = help ? xstrdup(help) : NULL, .kind = kind
	};
}

/* Does it fit what was typed?  In the first round by its beginning, in the second anywhere. */
static bool fits(const struct listing *l, const char *text, unsigned round)
{
	bool begins = !strncasecmp(text, l->typed, strlen(l->typed));

	return round ? !begins && strcasestr(text, l->typed) : begins;
}

static void list_conditions(struct listing *l)
{
	for (unsigned round = 0; round < 2; round++) {
		for (const struct filter_field *f = filter_fields; f->name; f++)
			if (fits(l, f->name, round))
				add_item(l, f->name, f->class == FIELD_FLAG ? "flag" : "field",
					 f->help);
		if (fits(l, "not", round))
			add_item(l, "not", "word", "does not hold");
		if (fits(l, "frame(", round))
			add_item(l, "frame(", "word", "one frame fulfils all that is inside");
	}
	if (!*l->typed)
		return;
	for (unsigned round = 0; round < 2; round++)
		for (const struct filter_row *f = filter_rows; f->name; f++)
			if (f->type != ARG_EXPRESSION && !filter_field_find(f->name) &&
			    fits(l, f->name, round))
				add_item(l, f->name, "filter", f->help);
}

static void list_operators(struct listing *l)
{
	static const struct {
		const char *text, *help;
		unsigned classes; /* bits of enum field_class */
	} rows[] = {
#define NUMBERS_ONLY (1u << FIELD_ROW | 1u << FIELD_STACK)
#define NAMES_ONLY                                                                                 \
	(1u << FIELD_FRAME | 1u << FIELD_RESPONSIBLE | 1u << FIELD_THREAD | 1u << FIELD_CALL |     \
	 1u << FIELD_ORIGIN)
		{ ">=", "is more or the same", NUMBERS_ONLY },
		{ "<=", "is less or the same", NUMBERS_ONLY },
		{ ">", "is more", NUMBERS_ONLY },
		{ "<", "is less", NUMBERS_ONLY },
		{ "~", "a regular expression matches", NAMES_ONLY },
		{ "!~", "a regular expression matches nowhere", NAMES_ONLY },
		{ "=", "is the same", NUMBERS_ONLY | NAMES_ONLY | 1u << FIELD_BACKTRACE },
		{ "!=", "is not the same", NUMBERS_ONLY | NAMES_ONLY | 1u << FIELD_BACKTRACE },
		{ "(", "at these moments", 1u << FIELD_ALIVE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!l->c->field || rows[i].classes >> l->c->field->class & 1)
			add_item(l, rows[i].text, "operator", rows[i].help);
}

static void list_joins(struct listing *l)
{
	for (unsigned round = 0; round < 2; round++) {
		if (fits(l, "and", round))
			add_item(l, "and", "word", "both hold");
		if (fits(l, "or", round))
			add_item(l, "or", "word", "at least one holds");
	}
	if (l->c->depth && !*l->typed)
		add_item(l, ")", "word", "closes the parenthesis");
}

/* A text as an expression has it: in quotes, and behind ~ as a pattern for itself. */
static void add_value(struct listing *l, const char *text, const char *help)
{
	auto_buf struct buf out = { 0 };

	buf_char(&out, '"');
	for (const char *p = text; *p; p++) {
		if (l->c->matches && strchr("\\^$.|?*+()[]{}", *p))
			buf_text(&out, *p == '\\' ? "\\\\\\" : "\\");
		else if (*p == '\\' || *p == '"')
			buf_char(&out, '\\');
		buf_char(&out, *p);
	}
	buf_char(&out, '"');
	add_item(l, out.data, "value", help);
}

struct used {
	uint32_t string;
	uint64_t count;
};

ORDER(most_used, struct used, FALLING(count) ?: RISING(string))

/* How often allocations go through each name: counts by string. */
static void count_names(struct listing *l, const struct answer *a, struct used *by_string)
{
	struct locations *p = l->ask->snapshot->locations;

	for (uint32_t i = 1; i < locations_count(p); i++) {
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++) {
			uint32_t id =
				l->c->field->which == FRAME_FUNCTION ? f[k].function : f[k].file;

			by_string[id].string = id;
			by_string[id].count += a->location_counts[i];
		}
	}
}

static void list_names(struct listing *l, const struct answer *a)
{
	struct locations *p = l->ask->snapshot->locations;
	uint32_t strings;
	auto_free struct used *names = NULL;

	locations_resolve_all(p); /* else there would be more strings after each lookup */
	strings = locations_string_count(p) + 1;
	names = xcalloc(strings, sizeof(*names));
	count_names(l, a, names);
	SORT(names, strings, most_used);
	for (uint32_t i = 0; i < strings && names[i].count && l->left; i++) {
		const char *text = locations_string(p, names[i].string);

		if (*text && strcasestr(text, l->typed))
			add_value(l, text, NULL);
	}
}

static void list_modules(struct listing *l)
{
	const struct tables *t = &l->ask->snapshot->model->tables;
	struct locations *p = l->ask->snapshot->locations;

	for (size_t i = 1; i < t->module_count; i++) {
		const char *path = locations_module_path(p, (uint32_t)i);

		if (t->modules[i].known && *path && strcasestr(path, l->typed))
			add_value(l, path_base(path), path);
	}
}

static void list_threads(struct listing *l)
{
	const struct threads *t = &l->ask->snapshot->model->tables.threads;
	char number[24];

	for (size_t i = 0; i < t->count; i++) {
		bool again = false;

		for (size_t k = 0; k < i && k < 1000; k++)
			again |= !strcmp(t->rows[k].name, t->rows[i].name);
		if (*t->rows[i].name && !again && strcasestr(t->rows[i].name, l->typed))
			add_value(l, t->rows[i].name, NULL);
	}
	for (size_t i = 0; i < t->count && l->left; i++) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)t->rows[i].tid);
		if (!strncmp(number, l->typed, strlen(l->typed)))
			add_item(l, number, "value", t->rows[i].name);
	}
}

static void list_calls(struct listing *l, const struct answer *a)
{
	for (unsigned i = 0; i < CALLS_MAX; i++) {
		const char *name =
			a->call_counts[i] ? locations_call(l->ask->snapshot->locations, i) : "";

		if (*name && strcasestr(name, l->typed))
			add_value(l, name, NULL);
	}
}

static void list_values(struct listing *l)
{
	struct answer a;

	if (!l->c->field || !l->ask->snapshot)
		return;
	snapshot_answer(l->ask->snapshot, &a, ask_view(l->ask));
	switch (l->c->field->class) {
	case FIELD_FRAME:
	case FIELD_RESPONSIBLE:
		if (l->c->field->which == FRAME_MODULE)
			list_modules(l);
		else
			list_names(l, &a);
		break;
	case FIELD_THREAD:
		list_threads(l);
		break;
	case FIELD_CALL:
		list_calls(l, &a);
		break;
	default:
		break;
	}
	snapshot_answer_release(&a);
}

/* The byte at which so many UTF-16 units end. */
static size_t byte_at(const char *text, uint64_t units)
{
	size_t size = strlen(text), at = 0;

	for (uint64_t n = 0; at < size && n < units;) {
		size_t sequence = utf8_sequence((const unsigned char *)text + at, size - at);

		n += sequence == 4 ? 2 : 1;
		at += sequence ? sequence : 1;
	}
	return at;
}

static int complete_compute(struct ask *a, void *answer)
{
	const char *text = ask_text(a, "text"), *at = ask_text(a, "at");
	struct answer_complete *ret = answer;
	auto_free char *typed = NULL;
	struct listing l = {
		.ask = a, .answer = ret, .c = &ret->cursor, .left = ask_count(a, "count")
	};
	size_t end;

	ret->expression = text = text ? text : "";
	end = at ? byte_at(text, strtoull(at, NULL, 10)) : strlen(text);
	cursor_find(&ret->cursor, text, end);
	l.typed = typed = xmemdup0(text + ret->cursor.typed, end - ret->cursor.typed);
	switch (ret->cursor.kind) {
	case PLACE_CONDITION:
		list_conditions(&l);
		break;
	case PLACE_OPERATOR:
		list_operators(&l);
		break;
	case PLACE_VALUE:
		list_values(&l);
		break;
	case PLACE_JOIN:
		list_joins(&l);
		break;
	}
	return 0;
}

static void complete_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_complete *c = answer;
	const struct cursor *at = &c->cursor;

	json_number(j, "from", param_position(c->expression, at->from));
	json_number(j, "to", param_position(c->expression, at->to));
	json_text(j, "hint",
		  at->kind == PLACE_VALUE && at->field
			  ? value_help(at->matches ? ARG_REGEX : at->field->type)
			  : NULL);
	JSON_ROWS(j, "items", i, c->count) {
		JSON_MEMBERS(j, &c->items[i], text, kind);
		if (c->items[i].help)
			json_text(j, "help", c->items[i].help);
	}
}

static void complete_drop(void *answer)
{
	struct answer_complete *c = answer;

	for (size_t i = 0; i < c->count; i++) {
		free(c->items[i].text);
		free(c->items[i].help);
	}
	free(c->items);
}

static const struct param_row params[] = {
	{ "text", PARAM_TEXT, NULL, "the expression so far" },
	{ "at", PARAM_NUMBER, NULL, "where the cursor is, in UTF-16 units; its end if not given" },
	{ "count", PARAM_COUNT, "20", "items at most", .max = ITEMS_MAX },
	{ 0 },
};

const struct question question_complete = {
	.name = "complete",
	.help = "what may stand at a place of an expression",
	.params = params,
	.size = sizeof(struct answer_complete),
	.compute = complete_compute,
	.write_members = complete_json,
	.release = complete_drop,
};
