/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters as SQL.  See sql.h.
 *
 * What a condition is about decides where it looks: the recording (a set of numbers from
 * `recordings`), the stack (a set of hashes from `stacks`), or the row itself.  Sets are GLOBAL,
 * so that in a cluster they are made once and sent to every shard.  It means what frames.c and
 * plan.c mean by it, and tests/e2e/test_fleet.py compares them. */
#include "fleet/sql.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "query/condition.h"

#define NS UINT64_C(1000000000)

void sql_text(struct buf *out, const char *text)
{
	buf_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\\' || *text == '\'')
			buf_char(out, '\\');
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			buf_printf(out, "\\x%02X", (unsigned char)*text);
		else
			buf_char(out, *text);
	}
	buf_char(out, '\'');
}

void sql_name(struct buf *out, const char *name)
{
	buf_char(out, '`');
	for (; *name; name++) {
		if (*name == '\\' || *name == '`')
			buf_char(out, '\\');
		buf_char(out, *name);
	}
	buf_char(out, '`');
}

struct writing {
	struct buf *out;
	uint32_t step;
	bool curves;
	struct err *err;
	int error;
};

static const char *const origins[] = {
	[ORIGIN_SERVICE] = "service", [ORIGIN_HOST] = "host",	    [ORIGIN_BUILD] = "build",
	[ORIGIN_RELEASE] = "release", [ORIGIN_COMMAND] = "command", [ORIGIN_LABEL] = "labels",
	[ORIGIN_RECORDING] = "id",
};

const char *sql_recording_column(const char *field)
{
	const struct filter_field *f = filter_field_find(field);

	return f && f->class == FIELD_ORIGIN && f->which != ORIGIN_LABEL ? origins[f->which] : NULL;
}

/* `column` is, or matches, what the test wants. */
static void write_comparison(struct writing *w, const struct condition *c, const char *column)
{
	bool match = c->op == OP_MATCH;

	buf_printf(w->out, match ? "match(%s, " : "(%s = ", column);
	sql_text(w->out, c->value.text);
	buf_char(w->out, ')');
}

static void write_origin(struct writing *w, const struct condition *c)
{
	buf_text(w->out, "recording GLOBAL IN (SELECT recording FROM recordings WHERE ");
	if (c->field->which == ORIGIN_LABEL) {
		buf_text(w->out, "arrayExists(x -> ");
		write_comparison(w, c, "x");
		buf_text(w->out, ", labels)");
	} else {
		write_comparison(w, c, origins[c->field->which]);
	}
	buf_char(w->out, ')');
}

/* A function with or without its parameters. */
static void write_function(struct writing *w, const struct condition *c, const char *column)
{
	if (c->op == OP_MATCH) {
		buf_printf(w->out, "(%s != '' AND ", column);
		write_comparison(w, c, column);
		buf_char(w->out, ')');
	} else if (!*c->value.text) {
		buf_char(w->out, '0');
	} else {
		auto_buf struct buf open = { 0 };

		buf_printf(&open, "%s(", c->value.text);
		buf_printf(w->out, "(%s = ", column);
		sql_text(w->out, c->value.text);
		buf_printf(w->out, " OR startsWith(%s, ", column);
		sql_text(w->out, open.data);
		buf_text(w->out, "))");
	}
}

/* A path, or the last part of it. */
static void write_path_is(struct writing *w, const char *column, const char *wanted)
{
	auto_buf struct buf end = { 0 };

	buf_printf(w->out, "(%s = ", column);
	sql_text(w->out, wanted);
	if (!strchr(wanted, '/')) {
		buf_printf(&end, "/%s", wanted);
		buf_printf(w->out, " OR endsWith(%s, ", column);
		sql_text(w->out, end.data);
		buf_char(w->out, ')');
	}
	buf_char(w->out, ')');
}

/* "p.c:12", as frames.c reads it; false: it is no such thing. */
static bool write_line_is(struct writing *w, const char *wanted)
{
	const char *colon = strrchr(wanted, ':');
	auto_buf struct buf path = { 0 };
	uint64_t number = 0;

	if (!colon || colon == wanted || !colon[1])
		return false;
	for (const char *c = colon + 1; *c; c++) {
		if (*c < '0' || *c > '9' || number > UINT32_MAX)
			return false;
		number = number * 10 + (uint64_t)(*c - '0');
	}
	if (!number)
		return false;
	buf_printf(&path, "%.*s", (int)(colon - wanted), wanted);
	buf_printf(w->out, " OR (l = %" PRIu64 " AND ", number);
	write_path_is(w, "s", path.data);
	buf_char(w->out, ')');
	return true;
}

/* A test of one frame: f, s, m and l are its function, source, module and line; of the allocating
 * call, which is a frame too, there is the function alone. */
static void write_frame_test(struct writing *w, const struct condition *c, bool call)
{
	enum frame_text which = (enum frame_text)c->field->which;
	const char *column = which == FRAME_SOURCE ? "s" : "m";

	if (which == FRAME_FUNCTION) {
		write_function(w, c, call ? "call" : "f");
	} else if (call) {
		buf_char(w->out, '0');
	} else if (c->op == OP_MATCH) {
		buf_printf(w->out, "(%s != '' AND ", column);
		write_comparison(w, c, column);
		buf_char(w->out, ')');
	} else {
		buf_printf(w->out, "(%s != '' AND (", column);
		write_path_is(w, column, c->value.text);
		if (which == FRAME_SOURCE)
			write_line_is(w, c->value.text);
		buf_text(w->out, "))");
	}
}

static void write_frame(struct writing *w, const struct condition *c, bool call)
{
	switch (c->kind) {
	case CONDITION_AND:
	case CONDITION_OR:
		buf_text(w->out, c->kind == CONDITION_AND ? "(1" : "(0");
		for (size_t i = 0; i < c->child_count; i++) {
			buf_text(w->out, c->kind == CONDITION_AND ? " AND " : " OR ");
			write_frame(w, c->children[i], call);
		}
		buf_char(w->out, ')');
		return;
	case CONDITION_NOT:
		buf_text(w->out, "(NOT ");
		write_frame(w, c->children[0], call);
		buf_char(w->out, ')');
		return;
	case CONDITION_TEST:
		write_frame_test(w, c, call);
		return;
	case CONDITION_TRUE:
	case CONDITION_FRAME:
		buf_char(w->out, '1');
		return;
	}
}

static void begin_stacks(struct writing *w)
{
	if (w->curves && !w->error)
		w->error = -ENOTSUP;
	buf_text(w->out, "stack GLOBAL IN (SELECT hash FROM stacks WHERE ");
}

static void write_some_frame(struct writing *w, const struct condition *c)
{
	begin_stacks(w);
	buf_text(w->out, "arrayExists((f, s, m, l) -> ");
	write_frame(w, c->children[0], false);
	buf_text(w->out, ", functions, files, modules, lines) OR ");
	write_frame(w, c->children[0], true);
	buf_char(w->out, ')');
}

static const char *sign_of(enum filter_op op)
{
	static const char *const signs[] = { [OP_EQ] = "=",  [OP_NE] = "!=", [OP_LT] = "<",
					     [OP_LE] = "<=", [OP_GT] = ">",  [OP_GE] = ">=" };

	return signs[op];
}

/* The class of a size: how many bits it has. */
static unsigned bits_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* Sizes are known by their number of bits, so only bounds at powers of two are exact; others are
 * refused, with the nearest ones. */
static void write_size(struct writing *w, const struct condition *c)
{
	uint64_t size = c->value.number, low;
	bool least = c->op == OP_GE || c->op == OP_LT;

	if (w->curves && !w->error)
		w->error = -ENOTSUP;
	/* size > 63 is size >= 64 */
	low = least ? size : size + 1;
	if (c->op == OP_EQ || (low && (low & (low - 1)))) {
		unsigned bits = bits_of(size);
		uint64_t below = bits ? 1ull << (bits - 1) : 0;

		w->error = err_set(w->err, -EINVAL,
				   "a fleet knows sizes by powers of two: compare with >= or < and "
				   "%" PRIu64 " or %" PRIu64,
				   below, below ? below * 2 : 1);
		return;
	}
	buf_printf(w->out, "(size_class %s %u)", c->op == OP_GE || c->op == OP_GT ? ">=" : "<",
		   bits_of(low));
}

/* A bucket has what came after its start, up to and with its end. */
static void write_time(struct writing *w, const struct condition *c)
{
	const struct value *v = &c->value;
	uint64_t from = v->number, to = from + v->width, at;

	if (v->kind != VALUE_UNIX) {
		w->error = err_set(w->err, -EINVAL,
				   "'%.40s': a fleet has no beginning; give a date and a time",
				   v->text);
		return;
	}
	at = c->op == OP_GE || c->op == OP_LT ? from : to;
	at = (at / NS + w->step / 2) / w->step * w->step;
	if (c->op == OP_EQ)
		buf_printf(
			w->out,
			"(bucket >= toDateTime(%" PRIu64 ") AND bucket < toDateTime(%" PRIu64 "))",
			from / NS / w->step * w->step, at > from / NS ? at : from / NS + w->step);
	else
		buf_printf(w->out, "(bucket %s toDateTime(%" PRIu64 "))",
			   c->op == OP_GE || c->op == OP_GT ? ">=" : "<", at);
}

static void write_test(struct writing *w, const struct condition *c)
{
	const struct filter_field *f = c->field;

	if (f->class == FIELD_ORIGIN) {
		write_origin(w, c);
	} else if (f->class == FIELD_RESPONSIBLE) {
		begin_stacks(w);
		write_function(w, c, "responsible");
		buf_char(w->out, ')');
	} else if (f->class == FIELD_CALL && f->which == SIDE_ALLOCATION) {
		begin_stacks(w);
		write_function(w, c, "call");
		buf_char(w->out, ')');
	} else if (f->class == FIELD_STACK && f->which == STACK_DEPTH) {
		begin_stacks(w);
		buf_printf(w->out, "depth %s %" PRIu64 ")", sign_of(c->op), c->value.number);
	} else if (f->class == FIELD_ROW && f->which == ROW_SIZE) {
		write_size(w, c);
	} else if (f->class == FIELD_ROW && f->which == ROW_ALLOCATED) {
		write_time(w, c);
	} else {
		w->error = err_set(w->err, -EINVAL,
				   "a fleet does not know '%s' of allocations: it has service, "
				   "host, build, release, label, command, function, source, "
				   "module, responsible, call, backtrace_depth, size and allocated",
				   f->name);
	}
}

static void write_condition(struct writing *w, const struct condition *c)
{
	switch (c->kind) {
	case CONDITION_TRUE:
		buf_char(w->out, '1');
		return;
	case CONDITION_AND:
	case CONDITION_OR:
		buf_text(w->out, c->kind == CONDITION_AND ? "(1" : "(0");
		for (size_t i = 0; i < c->child_count && w->error != -EINVAL; i++) {
			buf_text(w->out, c->kind == CONDITION_AND ? " AND " : " OR ");
			write_condition(w, c->children[i]);
		}
		buf_char(w->out, ')');
		return;
	case CONDITION_NOT:
		buf_text(w->out, "(NOT (");
		write_condition(w, c->children[0]);
		buf_text(w->out, "))");
		return;
	case CONDITION_FRAME:
		write_some_frame(w, c);
		return;
	case CONDITION_TEST:
		write_test(w, c);
		return;
	}
}

static bool asks_for_time(const struct condition *c)
{
	if (c->kind == CONDITION_TEST)
		return c->field->class == FIELD_ROW && c->field->which == ROW_ALLOCATED;
	for (size_t i = 0; i < c->child_count; i++)
		if (asks_for_time(c->children[i]))
			return true;
	return false;
}

bool sql_asks_for_time(const struct filter *f)
{
	return !filter_is_empty(f) && asks_for_time(f->all);
}

static int write_filter(struct buf *out, const struct filter *f, uint32_t step, bool curves,
			struct err *err)
{
	struct writing w = { .out = out, .step = step, .curves = curves, .err = err };

	if (f && (f->hidden || f->own))
		return err_set(err, -EINVAL,
			       "whose frames are was found out when a fleet's recordings were "
			       "pushed: hide and own are not for it");
	if (filter_is_empty(f))
		buf_char(out, '1');
	else
		write_condition(&w, f->all);
	return w.error;
}

int sql_condition(struct buf *out, const struct filter *f, uint32_t step, struct err *err)
{
	return write_filter(out, f, step, false, err);
}

int sql_condition_of_curves(struct buf *out, const struct filter *f, uint32_t step, struct err *err)
{
	return write_filter(out, f, step, true, err);
}
