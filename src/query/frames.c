/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conditions on frames: names to locations to stacks.
 *
 * A text is looked at once per condition, however many locations share it; a location is the sum of
 * its frames, and a node's stack has a fitting frame if the node's own location has one or the
 * stack outside it has.  The intercepted call is shown as a stack's innermost frame, so it counts
 * as one: it has a function's name, and neither source nor module. */
#include <errno.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/now.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/responsible.h"
#include "query/steps.h"

#define MATCHING_NS_MAX 10000000000ull /* of all texts together */
#define LOOK_AT_CLOCK 256	       /* matches */

enum memo { MEMO_NEW, MEMO_NO, MEMO_YES };

struct frame_test {
	const struct condition *c;
	uint8_t *memo; /* by string, or by module */
};

struct selecting {
	struct locations *p;
	struct frame_test *tests;
	size_t count, room;
	unsigned matches;
	uint64_t started_ns;
	int error;
	struct err *err;
};

/* A frame's texts; an id of 0 means none. */
struct frame_texts {
	const char *text[FRAME_TEXTS];
	uint32_t id[FRAME_TEXTS];
	uint32_t line; /* 0: not known */
};

static void collect(struct selecting *s, const struct condition *c, size_t memo_size)
{
	if (c->kind == CONDITION_TEST) {
		*xpush(s->tests, s->count, s->room) =
			(struct frame_test){ c, xcalloc(memo_size, 1) };
	}
	for (size_t i = 0; i < c->child_count; i++)
		collect(s, c->children[i], memo_size);
}

/* A function with or without its parameters, a path or the last part of it. */
static bool equals(enum frame_text which, const char *text, const char *wanted)
{
	size_t n = strlen(wanted);

	if (!strcmp(text, wanted))
		return true;
	if (which == FRAME_FUNCTION)
		return n && !strncmp(text, wanted, n) && text[n] == '(';
	return !strcmp(path_base(text), wanted);
}

/* "p.c:12": a path, or the last part of it, and a line. */
static bool equals_line(const char *path, uint32_t line, const char *wanted)
{
	const char *colon = strrchr(wanted, ':');
	size_t n = colon ? (size_t)(colon - wanted) : 0;
	uint64_t number = 0;

	if (!n || !line || !colon[1])
		return false;
	for (const char *c = colon + 1; *c; c++) {
		if (*c < '0' || *c > '9' || number > UINT32_MAX)
			return false;
		number = number * 10 + (uint64_t)(*c - '0');
	}
	if (number != line)
		return false;
	if (strlen(path) == n && !strncmp(path, wanted, n))
		return true;
	path = path_base(path);
	return strlen(path) == n && !strncmp(path, wanted, n);
}

static bool test_text(struct selecting *s, const struct condition *c, const char *text)
{
	int matched;

	if (c->op == OP_EQ)
		return equals((enum frame_text)c->field->which, text, c->value.text);
	if (s->error)
		return false;
	matched = pattern_match(c->pattern, text, s->err);
	if (matched < 0)
		s->error = matched;
	else if (!(++s->matches % LOOK_AT_CLOCK) && now_ns() - s->started_ns > MATCHING_NS_MAX)
		s->error = err_set(s->err, -ETIMEDOUT,
				   "the regular expression '%.60s' takes too long; a simpler one "
				   "is needed",
				   pattern_text(c->pattern));
	return matched > 0;
}

static bool test_frame(struct selecting *s, const struct condition *c,
		       const struct frame_texts *frame)
{
	enum frame_text which = (enum frame_text)c->field->which;
	struct frame_test *t = s->tests;
	uint8_t *memo;

	if (!frame->text[which] || !*frame->text[which])
		return false;
	while (t->c != c)
		t++;
	/* Not remembered: it depends on more than the text. */
	if (which == FRAME_SOURCE && c->op == OP_EQ &&
	    equals_line(frame->text[which], frame->line, c->value.text))
		return true;
	if (!frame->id[which])
		return test_text(s, c, frame->text[which]);
	memo = &t->memo[frame->id[which]];
	if (*memo == MEMO_NEW)
		*memo = test_text(s, c, frame->text[which]) ? MEMO_YES : MEMO_NO;
	return *memo == MEMO_YES;
}

static bool fulfils(struct selecting *s, const struct condition *c, const struct frame_texts *frame)
{
	switch (c->kind) {
	case CONDITION_AND:
		return ALL(i, c->child_count, fulfils(s, c->children[i], frame));
	case CONDITION_OR:
		return ANY(i, c->child_count, fulfils(s, c->children[i], frame));
	case CONDITION_NOT:
		return !fulfils(s, c->children[0], frame);
	case CONDITION_TEST:
		return test_frame(s, c, frame);
	case CONDITION_TRUE:
	case CONDITION_FRAME:
		break;
	}
	return true;
}

static bool frame_fulfils(struct selecting *s, const struct condition *c, const struct location *at,
			  const struct location_frame *f)
{
	uint32_t function = f->function ? f->function : f->raw_function;
	struct frame_texts texts = {
		.text = { locations_string(s->p, function), locations_string(s->p, f->file),
			  locations_module_path(s->p, at->module) },
		.id = { function, f->file, at->module },
		.line = f->line,
	};

	return fulfils(s, c, &texts);
}

static bool location_fulfils(struct selecting *s, const struct condition *c, uint32_t location)
{
	const struct location *at = locations_at(s->p, location);
	unsigned count;
	const struct location_frame *frames = locations_frames(s->p, location, &count);

	return ANY(i, count, frame_fulfils(s, c, at, &frames[i]));
}

static void select_stacks(struct selecting *s, const struct model *m, const struct condition *c,
			  uint64_t *stacks)
{
	const struct nodes *nodes = &m->tables.nodes;
	uint32_t count = locations_count(s->p);
	auto_free uint8_t *memo = xcalloc(count + 1, 1);

	for (uint32_t i = 1; i < nodes->count && !s->error; i++) {
		uint32_t location;

		if (!node_is_known(nodes, i))
			continue;
		if (bit_get(stacks, nodes->parent[i])) {
			bit_set(stacks, i);
			continue;
		}
		location = locations_of_node(s->p, i);
		if (memo[location] == MEMO_NEW)
			memo[location] = location_fulfils(s, c, location) ? MEMO_YES : MEMO_NO;
		if (memo[location] == MEMO_YES)
			bit_set(stacks, i);
	}
}

static void selecting_init(struct selecting *s, const struct model *m, struct locations *p,
			   const struct condition *c, struct err *err)
{
	size_t memo_size;

	*s = (struct selecting){ .p = p, .err = err, .started_ns = now_ns() };
	locations_resolve_all(p);
	memo_size = locations_string_count(p);
	memo_size = MAX(memo_size, m->tables.module_count);
	collect(s, c, memo_size + 1);
}

static void selecting_release(struct selecting *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->tests[i].memo);
	free(s->tests);
}

int frames_select_responsible(const struct responsible *r, const struct condition *c,
			      uint64_t *stacks, struct err *err)
{
	struct selecting s = { .p = r->locations, .err = err, .started_ns = now_ns() };
	const struct nodes *nodes = &r->model->tables.nodes;
	auto_free uint8_t *memo = xcalloc(responsible_units(r), 1);
	struct responsible_frame f;
	auto_buf struct buf name = { 0 };

	for (uint32_t i = 1; i < nodes->count && !s.error; i++) {
		uint8_t *known;

		if (!responsible_find(r, i, &f))
			continue;
		known = &memo[responsible_unit(r, &f)];
		if (*known == MEMO_NEW) {
			buf_clear(&name);
			responsible_name(r, &f, &name);
			*known = test_text(&s, c, name.data) ? MEMO_YES : MEMO_NO;
		}
		if (*known == MEMO_YES)
			bit_set(stacks, i);
	}
	return s.error;
}

int frames_match(const struct model *m, struct locations *p, const struct condition *c,
		 uint8_t *marks, struct err *err)
{
	auto_release(selecting_release) struct selecting s = { 0 };

	selecting_init(&s, m, p, c, err);
	for (uint32_t i = 0; i < locations_count(p) && !s.error; i++) {
		const struct location *at = locations_at(p, i);
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++)
			marks[at->first_frame + k] = frame_fulfils(&s, c, at, &f[k]);
	}
	return s.error;
}

int frames_select(const struct model *m, struct locations *p, const struct condition *c,
		  uint64_t *stacks, uint64_t *calls, struct err *err)
{
	const struct condition *inner = c->children[0];
	auto_release(selecting_release) struct selecting s = { 0 };

	selecting_init(&s, m, p, inner, err);
	select_stacks(&s, m, inner, stacks);
	for (unsigned i = 0; i < CALLS_MAX && !s.error; i++) {
		struct frame_texts texts = { .text = { locations_call(p, i) } };

		if (fulfils(&s, inner, &texts))
			bit_set(calls, i);
	}
	return s.error;
}
