/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filter expressions on any bytes: parsed, applied to a small recording, printed and read back.
 *
 * The first line is the expression; a second one, if there is any, is the value of a filter row
 * that its first byte chooses.  What is printed must be read back and choose the same rows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/xalloc.h"
#include "fuzz.h"
#include "query/view.h"
#include "random_recording.h"

static struct model *model;
static struct locations *locations;

static void make_recording(void)
{
	if (model)
		return;
	setenv("MEMOIR_THREADS", "1", 1);
	setenv("TZ", "UTC", 1);
	model = random_recording(
		&(struct random_options){ .seed = 1, .events = 300, .rich = true });
	locations = locations_new(model, NULL);
}

static struct view *apply(const struct filter *f)
{
	struct err err = { .text = "" };
	struct view *v = view_new(model, locations, f, &err);

	if (!v && !*err.text)
		abort(); /* refused, and not said why */
	return v;
}

static void check_same(const struct filter *f, const struct view *v)
{
	struct filter *again = filter_new();
	struct buf printed = { 0 };
	struct err err = { .text = "" };
	struct view *w;

	filter_print(f, &printed);
	/* What is printed has all its parentheses, so it may be nested further than was allowed. */
	if (filter_parse(again, printed.data, &err)) {
		if (strcmp(err.text, "nested too deeply") != 0)
			abort();
	} else {
		w = apply(again);
		if (!w || w->count != v->count || w->bytes != v->bytes)
			abort();
		view_free(w);
	}
	buf_release(&printed);
	filter_free(again);
}

static void add_row(struct filter *f, const char *line)
{
	size_t count = 0;
	struct err err = { .text = "" };

	while (filter_rows[count].name)
		count++;
	if (*line && filter_add(f, filter_rows[(uint8_t)*line % count].name, line + 1, &err) &&
	    !*err.text)
		abort();
}

FUZZ(filter, data, size)
{
	char *text = xmemdup0(data, size), *second = strchr(text, '\n');
	struct filter *f = filter_new();
	struct err err = { .text = "" };
	struct view *v;

	make_recording();
	if (second)
		*second++ = 0;
	if (filter_parse(f, text, &err) && (!*err.text || err.offset > strlen(text)))
		abort();
	if (second)
		add_row(f, second);
	v = apply(f);
	if (v)
		check_same(f, v);
	view_free(v);
	filter_free(f);
	free(text);
	return 0;
}
