/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters as trees of conditions.  See filter.h. */
#include "query/filter.h"

#include <errno.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "query/condition.h"

struct condition *condition_new(enum condition_kind kind)
{
	struct condition *c = xcalloc(1, sizeof(*c));

	c->kind = kind;
	return c;
}

struct condition *condition_free(struct condition *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; i < c->child_count; i++)
		condition_free(c->children[i]);
	free(c->children);
	value_release(&c->value);
	pattern_free(c->pattern);
	free(c);
	return NULL;
}

void condition_add(struct condition *parent, struct condition *child)
{
	*xpush(parent->children, parent->child_count, parent->child_room) = child;
}

struct filter *filter_new(void)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->all = condition_new(CONDITION_AND);
	return f;
}

struct filter *filter_free(struct filter *f)
{
	if (!f)
		return NULL;
	condition_free(f->all);
	condition_free(f->hidden);
	condition_free(f->own);
	free(f);
	return NULL;
}

bool filter_is_empty(const struct filter *f)
{
	return !f || !f->all->child_count;
}

/* The part of "word: expression; word: expression" that belongs to a word, or NULL. */
static char *choice(const char *meaning, const char *word)
{
	size_t size = strlen(word);

	while (size) {
		size_t n = strcspn(meaning, ":");

		if (n == size && !memcmp(meaning, word, n)) {
			meaning += n + 1;
			return xmemdup0(meaning, strcspn(meaning, ";"));
		}
		meaning = strchr(meaning, ';');
		if (!meaning)
			break;
		meaning += 1 + strspn(meaning + 1, " ");
	}
	return NULL;
}

static void list_choices(const char *meaning, struct buf *out)
{
	for (bool first = true; meaning; first = false) {
		meaning += strspn(meaning, "; ");
		buf_printf(out, "%s%.*s", first ? "" : ", ", (int)strcspn(meaning, ":"), meaning);
		meaning = strchr(meaning, ';');
	}
}

static struct condition *choice_condition(const struct filter_row *row, const char *value,
					  unsigned *count, struct err *err)
{
	auto_free char *meaning = choice(row->meaning, value);
	auto_buf struct buf words = { 0 };

	if (meaning)
		return expr_parse(meaning, NULL, count, err);
	list_choices(row->meaning, &words);
	err_set(err, -EINVAL, "'%.40s' is none of %s", value, words.data);
	return NULL;
}

static struct condition *yes_no_condition(const struct filter_row *row, const char *value,
					  unsigned *count, struct err *err)
{
	const char *no = strchr(row->meaning, ';') + 1;
	auto_free char *yes = xmemdup0(row->meaning, (size_t)(no - 1 - row->meaning));
	struct value v;
	bool is_yes;

	if (value_parse(&v, ARG_YES_NO, value, err))
		return NULL;
	is_yes = v.number;
	value_release(&v);
	return expr_parse(is_yes ? yes : no, NULL, count, err);
}

struct condition *filter_row_condition(const struct filter_row *row, const char *value,
				       unsigned *count, struct err *err)
{
	struct condition *c;

	switch (row->type) {
	case ARG_EXPRESSION:
		return expr_parse(value, NULL, count, err);
	case ARG_CHOICE:
		return choice_condition(row, value, count, err);
	case ARG_YES_NO:
		return yes_no_condition(row, value, count, err);
	default:
		c = expr_parse(row->meaning, value, count, err);
		if (!c && err)
			err->offset = ERR_NO_OFFSET; /* it is one in the row's meaning */
		return c;
	}
}

/* function_regex and source_regex that are given together must hold for one frame: a row joins the
 * first such condition that says nothing about its field yet. */
static bool join_frame(struct filter *f, struct condition *frame)
{
	struct condition *test = frame->children[0];

	for (size_t i = 0; i < f->all->child_count; i++) {
		struct condition *other = f->all->children[i], *tests;
		bool has = false;

		if (other->kind != CONDITION_FRAME || !other->from_rows)
			continue;
		tests = other->children[0];
		for (size_t k = 0; k < tests->child_count; k++)
			has |= tests->children[k]->field == test->field;
		if (has)
			continue;
		condition_add(tests, test);
		frame->child_count = 0;
		condition_free(frame);
		return true;
	}
	return false;
}

static void filter_add_condition(struct filter *f, struct condition *c, bool same_frame)
{
	if (c->kind == CONDITION_TRUE) {
		condition_free(c);
		return;
	}
	if (same_frame && c->kind == CONDITION_FRAME) {
		struct condition *list;

		if (join_frame(f, c))
			return;
		list = condition_new(CONDITION_AND);
		condition_add(list, c->children[0]);
		c->children[0] = list;
		c->from_rows = true;
	}
	condition_add(f->all, c);
}

int filter_add(struct filter *f, const char *name, const char *value, struct err *err)
{
	const struct filter_row *row = filter_row_find(name);
	struct condition *c;

	if (!row)
		return err_set(err, -ENOENT, "there is no filter '%.60s'", name);
	if (!strcmp(row->name, "hide"))
		return filter_hide(f, value, err);
	if (!strcmp(row->name, "own"))
		return filter_own(f, value, err);
	c = filter_row_condition(row, value, &f->count, err);
	if (!c)
		return -EINVAL;
	filter_add_condition(f, c, row->same_frame);
	return 0;
}

int filter_parse(struct filter *f, const char *expression, struct err *err)
{
	return filter_parse_with(f, expression, NULL, err);
}

int filter_parse_with(struct filter *f, const char *expression, const char *value, struct err *err)
{
	struct condition *c = expr_parse(expression, value, &f->count, err);

	if (!c)
		return -EINVAL;
	filter_add_condition(f, c, false);
	return 0;
}

/* What it chooses as one condition, which is the caller's; the filter is left with none. */
static struct condition *take_all(struct filter *f)
{
	struct condition *all = f->all;

	f->all = condition_new(CONDITION_AND);
	if (!all->child_count)
		all->kind = CONDITION_TRUE;
	return all;
}

/* Moves the children of a list into another of the same kind, so that long chains stay flat. */
static void add_flat(struct condition *list, struct condition *c)
{
	if (c->kind != list->kind && !(c->kind == CONDITION_AND && c->child_count == 1)) {
		condition_add(list, c);
		return;
	}
	for (size_t i = 0; i < c->child_count; i++)
		if (c->kind == list->kind)
			condition_add(list, c->children[i]);
		else
			add_flat(list, c->children[i]);
	c->child_count = 0;
	condition_free(c);
}

static void move_frames(struct condition **to, struct condition **from)
{
	if (*from && *to)
		condition_add(*to, *from);
	else if (*from)
		*to = *from;
	*from = NULL;
}

/* Counts b's tests and what it says of frames as a's, and frees it. */
static void absorb(struct filter *a, struct filter *b)
{
	a->count += b->count;
	move_frames(&a->hidden, &b->hidden);
	move_frames(&a->own, &b->own);
	filter_free(b);
}

struct filter *filter_and(struct filter *a, struct filter *b)
{
	struct condition *both = take_all(b);

	if (both->kind == CONDITION_TRUE)
		condition_free(both);
	else
		add_flat(a->all, both);
	absorb(a, b);
	return a;
}

struct filter *filter_or(struct filter *a, struct filter *b)
{
	struct condition *either = condition_new(CONDITION_OR);

	add_flat(either, take_all(a));
	add_flat(either, take_all(b));
	condition_add(a->all, either);
	absorb(a, b);
	return a;
}

struct filter *filter_not(struct filter *f)
{
	struct condition *inner = take_all(f), *c = condition_new(CONDITION_NOT);

	condition_add(c, inner);
	condition_add(f->all, c);
	return f;
}

int filter_check_size(const struct filter *f, struct err *err)
{
	return f->count <= CONDITION_COUNT ? 0
					   : err_set(err, -E2BIG, "that are too many conditions");
}

/* Takes "some frame is such" apart: what is left is asked of single frames.  NULL: it asks for more
 * than frames have. */
static struct condition *frames_only(struct condition *c)
{
	struct condition *inner;

	switch (c->kind) {
	case CONDITION_FRAME:
		inner = c->children[0];
		c->child_count = 0;
		condition_free(c);
		return inner;
	case CONDITION_AND:
	case CONDITION_OR:
	case CONDITION_NOT:
		for (size_t i = 0; i < c->child_count; i++) {
			inner = frames_only(c->children[i]);
			if (!inner)
				return NULL;
			c->children[i] = inner;
		}
		return c;
	case CONDITION_TRUE:
	case CONDITION_TEST:
		break;
	}
	return NULL;
}

/* Or-s conditions on frames to `list`, which may be there already. */
static int add_frames(struct filter *f, struct condition **list, const char *expression,
		      struct err *err)
{
	struct condition *c = expr_parse(expression, NULL, &f->count, err), *frames;

	if (!c)
		return -EINVAL;
	frames = frames_only(c);
	if (!frames) {
		condition_free(c);
		return err_at(err, -EINVAL, 0,
			      "frames are told by function, source and module only");
	}
	if (!*list)
		*list = condition_new(CONDITION_OR);
	condition_add(*list, frames);
	return 0;
}

int filter_hide(struct filter *f, const char *expression, struct err *err)
{
	return add_frames(f, &f->hidden, expression, err);
}

int filter_own(struct filter *f, const char *expression, struct err *err)
{
	return add_frames(f, &f->own, expression, err);
}

void filter_print_frames(const struct filter *f, struct buf *out)
{
	if (f && f->hidden)
		condition_print(f->hidden, out);
	buf_char(out, '\n');
	if (f && f->own)
		condition_print(f->own, out);
}

int filter_add_all(struct filter *f, const struct filter *other, struct err *err)
{
	auto_buf struct buf text = { 0 };
	int error = 0;

	if (!filter_is_empty(other)) {
		filter_print(other, &text);
		error = filter_parse(f, text.data, err);
	}
	buf_clear(&text);
	if (!error && other->hidden) {
		condition_print(other->hidden, &text);
		error = filter_hide(f, text.data, err);
	}
	buf_clear(&text);
	if (!error && other->own) {
		condition_print(other->own, &text);
		error = filter_own(f, text.data, err);
	}
	return error;
}

static void print_list(const struct condition *c, const char *between, struct buf *out)
{
	buf_text(out, c->child_count > 1 ? "(" : "");
	for (size_t i = 0; i < c->child_count; i++) {
		buf_text(out, i ? between : "");
		condition_print(c->children[i], out);
	}
	buf_text(out, c->child_count > 1 ? ")" : "");
}

/* Reads back as the same bytes: see read_text() in expr.c. */
void filter_print_text(const char *text, struct buf *out)
{
	if (expr_is_number_word(text)) {
		buf_text(out, text);
		return;
	}
	buf_char(out, '"');
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			buf_char(out, '\\');
		buf_char(out, *text);
	}
	buf_char(out, '"');
}

static void print_test(const struct condition *c, struct buf *out)
{
	static const char *const ops[] = {
		[OP_EQ] = "=", [OP_NE] = "!=", [OP_LT] = "<",	 [OP_LE] = "<=",
		[OP_GT] = ">", [OP_GE] = ">=", [OP_MATCH] = "~", [OP_NO_MATCH] = "!~",
	};
	bool alive = c->field->class == FIELD_ALIVE;

	buf_text(out, c->field->name);
	if (c->field->class == FIELD_FLAG)
		return;
	if (alive)
		buf_char(out, '(');
	else
		buf_printf(out, " %s ", ops[c->op]);
	if (c->value.kind == VALUE_IDS)
		for (size_t i = 0; i < c->value.id_count; i++)
			buf_printf(out, "%s%llu", i ? ", " : "",
				   (unsigned long long)c->value.ids[i]);
	else
		filter_print_text(c->value.text, out);
	buf_text(out, alive ? ")" : "");
}

static bool is_one_test(const struct condition *c)
{
	return c->kind == CONDITION_TEST ||
	       (c->kind == CONDITION_AND && c->child_count == 1 && is_one_test(c->children[0]));
}

void condition_print(const struct condition *c, struct buf *out)
{
	switch (c->kind) {
	case CONDITION_TRUE:
		buf_text(out, "lifetime = all");
		return;
	case CONDITION_AND:
		print_list(c, " and ", out);
		return;
	case CONDITION_OR:
		print_list(c, " or ", out);
		return;
	case CONDITION_NOT:
		buf_text(out, "not ");
		condition_print(c->children[0], out);
		return;
	case CONDITION_FRAME:
		if (is_one_test(c->children[0])) {
			condition_print(c->children[0], out);
			return;
		}
		buf_text(out, "frame(");
		condition_print(c->children[0], out);
		buf_char(out, ')');
		return;
	case CONDITION_TEST:
		print_test(c, out);
		return;
	}
}

void filter_print(const struct filter *f, struct buf *out)
{
	buf_text(out, "");
	for (size_t i = 0; f && i < f->all->child_count; i++) {
		const struct condition *c = f->all->children[i];

		buf_text(out, i ? " and " : "");
		for (size_t k = 0; c->kind == CONDITION_AND && k < c->child_count; k++) {
			buf_text(out, k ? " and " : "");
			condition_print(c->children[k], out);
		}
		if (c->kind != CONDITION_AND)
			condition_print(c, out);
	}
}
