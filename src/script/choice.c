/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What chooses allocations, as a tree that lists share.  See list.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "script/list.h"

#define DEPTH_MAX 60 /* less than an expression may be nested */

struct choice *choice_hold(struct choice *c)
{
	c->refs++;
	return c;
}

/* Long chains lean to the left, and so does the loop. */
struct choice *choice_drop(struct choice *c)
{
	while (c && !--c->refs) {
		struct choice *a = c->a;

		choice_drop(c->b);
		*c->memory -= c->size;
		free(c->what);
		free(c->value);
		free(c);
		c = a;
	}
	return NULL;
}

struct choice *choice_new(enum choice_kind kind, const char *what, const char *value,
			  size_t *memory)
{
	struct choice *c = xcalloc(1, sizeof(*c));

	c->refs = 1;
	c->leaves = 1;
	c->kind = kind;
	c->what = what ? xstrdup(what) : NULL;
	c->value = value ? xstrdup(value) : NULL;
	c->size = sizeof(*c) + (what ? strlen(what) : 0) + (value ? strlen(value) : 0);
	c->memory = memory;
	*memory += c->size;
	return c;
}

static unsigned depth_in(const struct choice *c, enum choice_kind kind)
{
	return !c ? 0 : c->kind == kind && kind != CHOICE_NOT ? c->depth : c->depth + 1;
}

struct choice *choice_join(enum choice_kind kind, struct choice *a, struct choice *b)
{
	struct choice *c = choice_new(kind, NULL, NULL, a->memory);
	unsigned left = depth_in(a, kind), right = depth_in(b, kind);

	c->a = a;
	c->b = b;
	c->leaves = a->leaves + (b ? b->leaves : 0);
	c->depth = left > right ? left : right;
	return c;
}

static struct filter *leaf(const struct choice *c, struct err *err)
{
	struct filter *f = filter_new();
	int error = 0;

	if (c->kind == CHOICE_ROW)
		error = filter_add(f, c->what, c->value, err);
	else if (c->kind == CHOICE_MEANING)
		error = filter_parse_with(f, c->what, c->value, err);
	return error ? filter_free(f) : f;
}

static struct filter *filter_of(const struct choice *c, struct err *err)
{
	struct filter *a, *b = NULL;

	if (!c->a)
		return leaf(c, err);
	a = filter_of(c->a, err);
	if (a && c->b)
		b = filter_of(c->b, err);
	if (!a || (c->b && !b))
		return filter_free(a);
	if (c->kind == CHOICE_NOT)
		return filter_not(a);
	a = c->kind == CHOICE_AND ? filter_and(a, b) : filter_or(a, b);
	return filter_check_size(a, err) ? filter_free(a) : a;
}

struct filter *choice_filter(const struct choice *c, struct err *err)
{
	if (c->depth > DEPTH_MAX || c->leaves > CHOICE_LEAVES) {
		err_set(err, -E2BIG, "the list is put together of too many others");
		return NULL;
	}
	return filter_of(c, err);
}
